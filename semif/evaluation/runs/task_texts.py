"""The texts of a run's tasks, which its own file does not hold."""

import hashlib
from pathlib import Path

from semif.errors import SemifError
from semif.evaluation.runs.run_file import RunHeader
from semif.evaluation.tasks.rows import cell_text, read_rows
from semif.evaluation.tasks.table_tasks import state_of
from semif.evaluation.tasks.task_lines import MAX_FILE_BYTES
from semif.project.whole_files import read_whole
from semif_adapter.contract.question import content_text


def task_texts(path: Path, header: RunHeader) -> dict[str, str]:
    """The states of the file's tasks by their ids, an object as JSON.

    Raises SemifError where it cannot be read, and where it is none of the files that the run asked.
    """
    content = read_whole(path, MAX_FILE_BYTES)
    sha256 = hashlib.sha256(content).hexdigest()
    asked = next((file for file in header.tasks if file.sha256 == sha256), None)
    if asked is None:
        names = ", ".join(file.name for file in header.tasks)
        raise SemifError(f"{path} is none of the files that the run asked, as they were: {names}")
    state, named = ("state", "id") if asked.table is None else (asked.table.state, asked.table.id)
    texts = {}
    for number, read in read_rows(path, content):
        row = read()
        told = state_of(row, state)
        texts[(named and cell_text(row, named)) or f"line-{number}"] = (
            "" if told is None else content_text(told)
        )
    return texts
