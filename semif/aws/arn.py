"""Amazon Resource Names, taken apart."""

from typing import NamedTuple, Self


class Arn(NamedTuple):
    """`arn:PARTITION:SERVICE:REGION:ACCOUNT:RESOURCE`; region and account may be empty."""

    partition: str
    service: str
    region: str
    account: str
    resource: str

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """The ARN that `text` is; None where it is none."""
        match text.split(":", maxsplit=5):
            case ["arn", partition, service, region, account, resource]:
                return cls(partition, service, region, account, resource)
        return None
