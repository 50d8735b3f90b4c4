"""What one key of an environment file may say: texts of a form, numbers within bounds."""

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints, WithJsonSchema

from semif.errors import shown


def _written_as(pattern: str, allowed: str) -> tuple[AfterValidator, WithJsonSchema]:
    """For text of this form; `allowed` is how people are told, and not by the pattern."""
    form = re.compile(pattern)

    def check(text: str) -> str:
        if not form.fullmatch(text):
            raise ValueError(f"{shown(text)} must be {allowed}")
        return text

    return AfterValidator(check), WithJsonSchema({"type": "string", "pattern": f"^{pattern}$"})


EnvironmentName = Annotated[
    str,
    StringConstraints(max_length=40),
    *_written_as(
        "[a-z][a-z0-9]*(-[a-z0-9]+)*",
        "lower-case letters and digits, in words with single hyphens between, a letter first",
    ),
]
"""Part of the names of stacks (`Semif-NAME-…`) and of the endpoint (`semif-NAME`, at most 63 characters)."""
AccountId = Annotated[str, *_written_as("[0-9]{12}", "12 digits")]
Region = Annotated[str, *_written_as("[a-z]{2,4}(-[a-z]+)+-[0-9]", "a region's name, such as eu-central-1")]
VpcId = Annotated[str, *_written_as("vpc-[0-9a-f]{8,17}", "a VPC's id, such as vpc-0123456789abcdef0")]
SubnetId = Annotated[str, *_written_as("subnet-[0-9a-f]{8,17}", "an id such as subnet-0123456789abcdef0")]
SecurityGroupId = Annotated[str, *_written_as("sg-[0-9a-f]{8,17}", "an id such as sg-0123456789abcdef0")]
PrefixListId = Annotated[
    str, *_written_as("pl-[0-9a-f]{8,17}", "the id of a prefix list, such as pl-0123456789abcdef0")
]
KeyArn = Annotated[
    str,
    *_written_as(
        "arn:aws[a-z-]*:kms:[a-z0-9-]+:[0-9]{12}:key/[A-Za-z0-9-]{1,64}",
        "the ARN of a KMS key, arn:aws:kms:REGION:ACCOUNT:key/ID; an alias can be moved to another key",
    ),
]
RoleArn = Annotated[
    str,
    *_written_as(
        "arn:aws[a-z-]*:iam::[0-9]{12}:role/([A-Za-z0-9_+=,.@-]+/)*[A-Za-z0-9_+=,.@-]{1,64}",
        "the ARN of a role, arn:aws:iam::ACCOUNT:role/NAME",
    ),
]
BucketName = Annotated[
    str, *_written_as("[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]", "a bucket's name, 3 to 63 of a-z, 0-9, . and -")
]
BootstrapQualifier = Annotated[
    str, *_written_as("[a-z0-9]{1,10}", "what `cdk bootstrap --qualifier` was given, 1 to 10 of a-z and 0-9")
]
EndpointName = Annotated[
    str,
    StringConstraints(max_length=63),
    *_written_as(
        "[a-z0-9]+(-+[a-z0-9]+)*",
        "lower-case letters, digits and hyphens, none of these at an end: ARNs have names in lower case",
    ),
]
FlagName = Annotated[
    str,
    StringConstraints(max_length=60),
    *_written_as("[a-z0-9]+(-[a-z0-9]+)*", "a flag's long name without its dashes, such as log-jsonl"),
]
PolicyArn = Annotated[
    str,
    *_written_as(
        "arn:aws[a-z-]*:iam::([0-9]{12}|aws):policy/[!-~]{1,512}",
        "the ARN of a managed policy, arn:aws:iam::ACCOUNT:policy/NAME",
    ),
]
TopicArn = Annotated[
    str,
    *_written_as(
        "arn:aws[a-z-]*:sns:[a-z0-9-]+:[0-9]{12}:[A-Za-z0-9_-]{1,256}",
        "the ARN of an SNS topic, arn:aws:sns:REGION:ACCOUNT:NAME",
    ),
]
PackageGroupName = Annotated[
    str,
    *_written_as(
        "[A-Za-z0-9](-*[A-Za-z0-9]){0,62}",
        "1 to 63 letters, digits and hyphens, beginning and ending without a hyphen",
    ),
]
TagKey = Annotated[
    str,
    *_written_as(
        "(?!aws:|semif:)[A-Za-z0-9 _.:/=+@-]{1,128}",
        "1 to 128 letters, digits, spaces and _.:/=+-@, not beginning with aws: or semif:",
    ),
]
TagValue = Annotated[
    str, *_written_as("[A-Za-z0-9 _.:/=+@-]{0,256}", "up to 256 letters, digits, spaces and _.:/=+-@")
]
HubRepository = Annotated[
    str,
    *_written_as(
        "[A-Za-z0-9][A-Za-z0-9._-]{0,95}/[A-Za-z0-9][A-Za-z0-9._-]{0,95}",
        "a repository of huggingface.co, OWNER/NAME",
    ),
]
HubFilePath = Annotated[
    str,
    *_written_as(
        "([A-Za-z0-9][A-Za-z0-9._-]*/)*[A-Za-z0-9][A-Za-z0-9._-]*\\.[gG][gG][uU][fF]",
        "the path of a .gguf in the repository",
    ),
    StringConstraints(max_length=200),
]
HubRevision = Annotated[
    str, *_written_as("[0-9a-f]{40}", "the 40 hexadecimal digits of a commit; a branch or tag can move")
]
FindingId = Annotated[
    str, *_written_as("[A-Z]+[A-Z0-9]*-[A-Za-z0-9:.-]{4,60}", "a finding's id, such as CVE-2026-12345")
]


def _acceptance(text: str) -> str:
    if not 10 <= len(text) <= 500:
        raise ValueError(f"{shown(text)} must say who accepts the finding, and why, in 10 to 500 characters")
    return text


Acceptance = Annotated[
    str,
    StringConstraints(strip_whitespace=True),
    AfterValidator(_acceptance),
    Field(json_schema_extra={"minLength": 10, "maxLength": 500}),
]
"""Who accepts a finding, and why."""
TimeoutSeconds = Annotated[int, Field(ge=60, le=3600)]
_Days = Literal[
    1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653
]


def _no_boolean(days: object) -> object:
    if isinstance(days, bool):  # equal to 1 in Python, and so in a Literal
        raise ValueError(f"{str(days).lower()} must be a number of days")
    return days


RetentionDays = Annotated[_Days, BeforeValidator(_no_boolean)]
"""What CloudWatch Logs offers."""
Schedule = Annotated[
    str,
    *_written_as(
        r"(cron\([A-Za-z0-9 ,*?/#LW-]{1,120}\)|at\([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\))",
        "a schedule, cron(0 7 ? * MON-FRI *) or at(2026-12-24T18:00:00)",
    ),
]
TimeZone = Annotated[
    str, *_written_as(r"[A-Za-z]+([/_+-][A-Za-z0-9]+)*", "a time zone by its name, such as Europe/Berlin")
]
CooldownSeconds = Annotated[int, Field(ge=0, le=7200)]
Percent = Annotated[float, Field(gt=0, le=100)]


def _at_least_one(count: int) -> int:
    if count < 1:
        raise ValueError(
            f"{count} instances are not possible, a variant starts with at least 1; none is for "
            "mode = 'async' and scaling.min_instance_count = 0"
        )
    return count


MAX_COUNT = 2_147_483_647
"""SageMaker and Application Auto Scaling count in 32 bits; what an account allows are its quotas."""
InstanceCount = Annotated[
    int, AfterValidator(_at_least_one), Field(le=MAX_COUNT, json_schema_extra={"minimum": 1})
]


def _each_once(ids: list[str]) -> list[str]:
    if len(set(ids)) != len(ids):
        raise ValueError(f"{shown(ids)}: name each id once")
    return ids


EachOnce = (AfterValidator(_each_once), Field(json_schema_extra={"uniqueItems": True}))
"""For a list whose items must differ."""
