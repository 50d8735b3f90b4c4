"""docs/client.md: its programs run, its tables and defaults are the code's."""

import re
from typing import Any

from semif import DecisionError, Retry
from semif.client import errors, retry
from semif.project.root import project_root

PAGE = (project_root() / "docs" / "client.md").read_text()


def test_the_programs_run(short_url: str) -> None:
    programs = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    names: dict[str, Any] = {}
    for program in programs:
        exec(program.replace("http://127.0.0.1:8080", short_url), names)
    names["client"].close()
    assert len(programs) == 6
    assert names["team"].choice in names["Team"]


def test_the_errors_are_all_there_and_say_whether_they_are_asked_again() -> None:
    table = dict(re.findall(r"^\| `(\w+Error)` \| .* \| (yes|no)[^|]* \|$", PAGE, re.MULTILINE))
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    assert table == {
        kind.__name__: "yes" if kind.retryable else "no"
        for kind in kinds
        if issubclass(kind, DecisionError) and kind is not DecisionError
    }


def test_the_defaults_are_those_of_the_code() -> None:
    (shown,) = re.findall(r"`retry=(Retry\(.*?\))`", PAGE)
    assert eval(shown, {"Retry": Retry}) == Retry()
    for name in retry.Attempt.__dataclass_fields__:
        assert f"`{name}`" in PAGE
