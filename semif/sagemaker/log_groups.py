"""Where SageMaker keeps what containers print; it chose the names."""

ENDPOINT_LOGS = "/aws/sagemaker/Endpoints"
"""What the names of endpoints' groups begin with, and the namespace of their instances' figures."""
TRANSFORM_LOG_GROUP = "/aws/sagemaker/TransformJobs"
"""The group of all transform jobs of an account and region; a stream is JOB/INSTANCE-TIME.
The namespace of their instances' figures too."""


def log_group(endpoint: str) -> str:
    """Name of an endpoint's group in CloudWatch Logs."""
    return f"{ENDPOINT_LOGS}/{endpoint}"
