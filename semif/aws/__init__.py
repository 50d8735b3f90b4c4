"""AWS's clients, and what the toolkit asks S3, CloudFormation and CloudWatch Logs."""
