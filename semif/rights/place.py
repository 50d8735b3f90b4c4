"""ARNs of what an environment has in its account and region, as far as names are known before it is made."""

from dataclasses import dataclass

from semif.aws.partitions import partition_of
from semif.environment.environment import Environment
from semif.errors import SemifError, shown

BOOTSTRAP_QUALIFIER = "hnb659fds"
"""The CDK's default, part of the names of all that `cdk bootstrap` makes."""
_STACK_NAME_CHARACTERS = 24
"""Of the 63 that a bucket's name may have, CloudFormation gives at least so many to the stack's name: two
hyphens and its random ending of 12 or 13 characters leave twice this and no more (counted, not seen)."""


@dataclass(frozen=True)
class Place:
    """Where an environment is: names that CloudFormation chooses are patterns, as narrow as they can be."""

    environment: Environment
    account: str
    region: str

    @property
    def partition(self) -> str:
        """`aws`, `aws-cn` and so on. Raises SemifError for a region that is none."""
        partition = partition_of(self.region)
        if partition is None:
            raise SemifError(f"{shown(self.region)} is no region; give one such as eu-central-1")
        return partition

    def arn(self, service: str, resource: str) -> str:
        """Of a resource of this account and region."""
        return f"arn:{self.partition}:{service}:{self.region}:{self.account}:{resource}"

    def role(self, name: str) -> str:
        """Of a role of this account."""
        return f"arn:{self.partition}:iam::{self.account}:role/{name}"

    def bootstrap_role(self, kind: str) -> str:
        """Of one of the roles that `cdk bootstrap` makes: `deploy`, `file-publishing`, `lookup`."""
        return self.role(f"cdk-{qualifier_of(self.environment)}-{kind}-role-{self.account}-{self.region}")

    @property
    def bootstrap_version(self) -> str:
        """Of the parameter in which `cdk bootstrap` leaves its version."""
        return self.arn("ssm", f"parameter{bootstrap_parameter(self.environment)}")

    @property
    def stacks(self) -> tuple[str, ...]:
        """Both, whatever their random ids."""
        names = (self.environment.artifacts_stack, self.environment.endpoint_stack)
        return tuple(self.arn("cloudformation", f"stack/{name}/*") for name in names)

    @property
    def model_bucket(self) -> str:
        """The bucket of the Artifacts stack, or the one that is there already."""
        return self._bucket(self.environment.existing.bucket, self.environment.artifacts_stack)

    @property
    def lines_bucket(self) -> str:
        """The same of the Endpoint stack, where requests and answers lie in the modes async and batch."""
        return self._bucket(self.environment.existing.files_bucket, self.environment.endpoint_stack)

    @property
    def made_buckets(self) -> tuple[str, ...]:
        """Those of the stacks, which go with them: none that is there already."""
        existing, stacks = self.environment.existing, self.environment
        made = {
            stacks.artifacts_stack: existing.bucket is None,
            stacks.endpoint_stack: existing.files_bucket is None,
        }
        return tuple(self._bucket(None, stack) for stack, is_made in made.items() if is_made)

    def _bucket(self, given: str | None, stack: str) -> str:
        return f"arn:{self.partition}:s3:::{given or f'{stack.lower()[:_STACK_NAME_CHARACTERS]}*'}"

    @property
    def repository(self) -> str:
        """The ECR repository of the Artifacts stack."""
        return self.arn("ecr", f"repository/{self.environment.artifacts_stack.lower()}-*")

    def log_group(self, name: str) -> tuple[str, ...]:
        """A group and its streams."""
        group = self.arn("logs", f"log-group:{name}")
        return group, f"{group}:*"

    @property
    def endpoint(self) -> str:
        """The endpoint, whose name is fixed."""
        return self.arn("sagemaker", f"endpoint/{self.environment.endpoint_name}")


def qualifier_of(environment: Environment) -> str:
    """Of the `cdk bootstrap` that deploys `environment`."""
    return environment.bootstrap_qualifier or BOOTSTRAP_QUALIFIER


def bootstrap_parameter(environment: Environment) -> str:
    """Where that bootstrap leaves its version."""
    return f"/cdk-bootstrap/{qualifier_of(environment)}/version"
