"""SageMaker's own rules and tables, shared by the checks of environment files and the constructs."""
