"""Where SageMaker keeps what the containers of an endpoint print."""


def log_group(endpoint: str) -> str:
    """Name of the group in CloudWatch Logs; SageMaker chose it."""
    return f"/aws/sagemaker/Endpoints/{endpoint}"
