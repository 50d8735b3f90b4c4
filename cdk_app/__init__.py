"""The CDK app: which stacks an environment and its lock come to."""
