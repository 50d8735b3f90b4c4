"""What callers asked and what the endpoint answered, captured by SageMaker: tasks to label, and their run."""
