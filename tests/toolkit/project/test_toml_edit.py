"""Keys set in place: the file then says exactly that, and everything else stays."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semif.errors import SemifError
from semif.project.toml_edit import with_keys

TEXT = """\
# file
[one]
a = "1"  # first
list = [
    "a = 2",
]

[two]  # table
a = 2
"""


def test_a_key_is_changed_added_and_removed() -> None:
    edited = with_keys(TEXT, "one", {"a": "#", "b": 12_345, "c": None})
    assert edited == TEXT.replace('"1"  # first\n', '"#"  # first\nb = 12_345\n')
    assert with_keys(edited, "one", {"b": None, "a": "1"}) == TEXT
    assert with_keys(TEXT, "two", {"a": "x"}) == TEXT.removesuffix("a = 2\n") + 'a = "x"\n'


text = st.text(st.characters(codec="utf-8"), max_size=20)
values = st.one_of(text, st.integers(0, 1 << 40), st.dates())


@given(before=text, value=values, other=values)
def test_any_value_comes_back(before: str, value: str | int, other: str | int) -> None:
    old = with_keys("[t]\na = 0 # c\n[u]\nb = 1\n", "t", {"a": before})
    new = with_keys(old, "t", {"a": value, "b": other})
    assert tomllib.loads(new) == {"t": {"a": value, "b": other}, "u": {"b": 1}}
    assert " # c\n" in new


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("[one]\na = 1\n", r"there is no \[t\] to edit"),
        ('[t]\n"a" = 1\n', r'not written as simply as this command can edit; set there a = "new"'),
        ('[t]\na = """\nlong"""\n', "not written as simply"),
        ("t.a = 1\n", r"there is no \[t\]"),
    ],
)
def test_what_it_cannot_edit_it_refuses(content: str, told: str) -> None:
    with pytest.raises(SemifError, match=told):
        with_keys(content, "t", {"a": "new"})
