"""What a run file tells of a table whose columns were asked."""

from semif_adapter.archive.manifest import Sha256
from semif_adapter.contract.wire import WireModel


class AskedTable(WireModel):
    """How a table was asked."""

    state: str
    """The column of the states."""
    id: str | None
    """The column of the tasks' names; None where they are named after their lines."""
    sha256: Sha256
    """Of what each column was taken for, the question and its options."""
