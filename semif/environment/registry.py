"""`[registry]`: where image and model are registered, and whether somebody must approve them."""

from typing import Annotated

from pydantic import StringConstraints

from semif.environment.tables import FileTable


class RegistryTable(FileTable):
    """`[registry]`: a model package group of SageMaker's Model Registry."""

    group: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9](-*[A-Za-z0-9]){0,62}$")]
    """Its name; `semif model register` makes it where it is missing. Environments may share one."""
    require_approval: bool = False
    """Whether `semif deploy` and `semif rollback` deploy only what is registered there and approved."""
