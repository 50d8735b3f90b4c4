"""`[registry]`: where image and model are registered, and whether somebody must approve them."""

from semif.environment.tables.endpoint import FileTable
from semif.environment.tables.values import PackageGroupName


class RegistryTable(FileTable):
    """`[registry]`: a model package group of SageMaker's Model Registry."""

    group: PackageGroupName
    """Its name; `semif model register` makes it where it is missing. Environments may share one."""
    require_approval: bool = False
    """Whether `semif deploy` and `semif rollback` deploy only what is registered there and approved."""
