"""What asking an environment takes, at once, by its queue or in jobs."""

from semif.rights.conditions import everything, in_mode
from semif.rights.right import Right
from semif.sagemaker.bucket_folders import ANSWERS, FAILURES, LINES, REQUESTS

ASKING: tuple[Right, ...] = (
    Right(
        "ask it",
        ("sagemaker:InvokeEndpoint",),
        lambda place: (place.endpoint,),
        ("deploy", "call"),
        in_mode("realtime"),
    ),
    Right(
        "ask kind text word by word",
        ("sagemaker:InvokeEndpointWithResponseStream",),
        lambda place: (place.endpoint,),
        ("deploy", "call"),
        lambda environment: environment.serving_kind.streams_words,
    ),
    Right(
        "ask by the queue",
        ("sagemaker:InvokeEndpointAsync", "sagemaker:DescribeEndpoint"),
        lambda place: (place.endpoint,),
        ("deploy", "call"),
        in_mode("async"),
    ),
    Right(
        "run transform jobs",
        (
            "sagemaker:CreateTransformJob",
            "sagemaker:DescribeTransformJob",
            "sagemaker:StopTransformJob",
            "sagemaker:AddTags",
        ),
        lambda place: (
            place.arn("sagemaker", f"transform-job/{place.environment.endpoint_name}-*"),
            place.arn("sagemaker", "model/*"),
        ),
        ("deploy", "call"),
        in_mode("batch"),
    ),
    Right(
        "find transform jobs and their model",
        ("sagemaker:ListTransformJobs", "sagemaker:DescribeModel"),
        everything,
        ("deploy", "call"),
        in_mode("batch"),
    ),
    Right(
        "hand requests to queues and transform jobs",
        ("s3:PutObject",),
        lambda place: tuple(f"{place.lines_bucket}/{folder}/*" for folder in (REQUESTS, LINES)),
        ("deploy", "call"),
        in_mode("async", "batch"),
    ),
    Right(
        "take their answers",
        ("s3:GetObject", "s3:ListBucket"),
        lambda place: (
            place.lines_bucket,
            *(f"{place.lines_bucket}/{folder}/*" for folder in (REQUESTS, LINES, ANSWERS, FAILURES)),
        ),
        ("deploy", "call"),
        in_mode("async", "batch"),
    ),
    Right(
        "find their bucket",
        ("cloudformation:DescribeStacks", "cloudformation:ListStackResources"),
        lambda place: place.stacks,
        ("call",),
        in_mode("async", "batch"),
    ),
)
