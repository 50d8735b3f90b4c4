"""How the problems of a file are worded: in the file's terms, not in Python's."""

from pathlib import Path

import pytest

from semif.environment import read_environment
from semif.errors import ProblemsError
from semif.project import project_root

DEMO = (project_root() / "environments" / "demo.toml").read_text()


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("kind =", "account = 111122223333\nkind =", "account = 111122223333: must be text in quotes"),
        ("kind =", 'account = "1111"\nkind =', "account: '1111' must be 12 digits in quotes"),
        (
            "kind =",
            'region = "Paris"\nkind =',
            "region: 'Paris' must be a region's name, such as eu-central-1",
        ),
        ("streams = 4", "streams = true", "adapter.streams = true: must be greater than or equal to 2"),
        ("streams = 4", 'streams = "two"', "adapter.streams = 'two': must be a whole number"),
        ("[endpoint]", "[endpoint]\ninstance_pool = 3", "endpoint.instance_pool = 3: must be a list"),
        ('[model]\npreset = "embedded"', "[[model]]", "model = [{}]: must be a table (in JSON an object)"),
        ('kind = "decision"', 'kind = "poem"', "kind = 'poem': must be 'decision' or 'text'"),
    ],
)
def test_problems_speak_of_the_file(tmp_path: Path, old: str, new: str, problem: str) -> None:
    assert DEMO.count(old) == 1
    path = tmp_path / "demo.toml"
    path.write_text(DEMO.replace(old, new))
    with pytest.raises(ProblemsError) as caught:
        read_environment(path)
    assert problem in caught.value.problems
