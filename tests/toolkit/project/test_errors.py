"""How the problems of a file are worded: in the file's terms, not in Python's."""

from pathlib import Path

import pytest

from semif.environment.environment import read_environment
from semif.errors import MAX_LISTED, ProblemsError, SemifError
from semif.project.root import project_root

DEMO = (project_root() / "environments" / "demo.toml").read_text()
MANY_TAGS = "".join(f"tags.t{number} = 'v'\n" for number in range(41))
VPC = "[network]\nvpc_id = 'vpc-01234567'\ns3_prefix_list_id = 'pl-01234567'\n"
TAG_KEY = "1 to 128 letters, digits, spaces and _.:/=+-@, not beginning with aws: or semif:"
BOUNDARY = "arn:aws:iam::999922223333:policy/B"


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("kind =", "account = 111122223333\nkind =", "account = 111122223333: must be text in quotes"),
        ("kind =", 'account = "1111"\nkind =', "account: '1111' must be 12 digits"),
        (
            "kind =",
            'region = "Paris"\nkind =',
            "region: 'Paris' must be a region's name, such as eu-central-1",
        ),
        (
            "kind =",
            f'account = "111122223333"\npermissions_boundary = "{BOUNDARY}"\nkind =',
            f"permissions_boundary: '{BOUNDARY}' is not of account 111122223333, IAM takes only its own",
        ),
        ("kind =", "tags.n = 5\nkind =", "tags.n = 5: must be text in quotes"),
        (
            "kind =",
            "log_retention_days = true\nkind =",
            "log_retention_days: true must be a number of days",
        ),
        (
            "initial_instance_count = 1",
            f"initial_instance_count = {10**20}",
            f"endpoint.initial_instance_count = {10**20}: must be less than or equal to 2147483647",
        ),
        (
            "kind =",
            'tags."ä" = "c"\nkind =',
            f"tags.ä: 'ä' must be {TAG_KEY}",
        ),
        ("kind =", f"{MANY_TAGS}kind =", "tags has 41 entries, allowed are at most 40"),
        (
            "kind =",
            f"{'k' * 200} = 1\nkind =",
            f"'{'k' * 119}… (202 characters) is not a known key, remove it or check its spelling",
        ),
        (
            "kind =",
            '"\\u001b[2J\\n" = 1\nkind =',
            r"'\x1b[2J\n' is not a known key, remove it or check its spelling",
        ),
        ("streams = 4", "streams = true", "adapter.streams = true: must be greater than or equal to 2"),
        ("streams = 4", 'streams = "two"', "adapter.streams = 'two': must be a whole number"),
        ("[endpoint]", "[endpoint]\ninstance_pool = 3", "endpoint.instance_pool = 3: must be a list"),
        (
            "[endpoint]",
            f"{VPC}subnet_ids = ['subnet-01234567']\n[endpoint]",
            "network.subnet_ids has 1 entries, allowed are at least 2",
        ),
        (
            "[endpoint]",
            f"{VPC}subnet_ids = ['subnet-01234567', 'subnet-01234567']\n[endpoint]",
            "network.subnet_ids: ['subnet-01234567', 'subnet-01234567']: name each id once",
        ),
        ('[model]\npreset = "embedded"', "[[model]]", "model = [{}]: must be a table (in JSON an object)"),
        (
            '"ml.c6i.large"',
            '["ml.c6i.large"]',
            "endpoint.instance_type = ['ml.c6i.large']: must be text in quotes",
        ),
        ('kind = "decision"', 'kind = "poem"', "kind = 'poem': must be 'decision', 'text' or 'decider'"),
    ],
)
def test_problems_speak_of_the_file(tmp_path: Path, old: str, new: str, problem: str) -> None:
    assert DEMO.count(old) == 1
    path = tmp_path / "demo.toml"
    path.write_text(DEMO.replace(old, new))
    with pytest.raises(ProblemsError) as caught:
        read_environment(path)
    assert caught.value.problems == (problem,)


def test_the_mark_that_windows_puts_before_utf8_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "demo.toml"
    path.write_bytes(b"\xef\xbb\xbf" + DEMO.encode())
    assert read_environment(path).name == "demo"


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (DEMO.encode("utf-16"), "is in UTF-16; save it as UTF-8"),
        (b"a." * 30_000 + b"b = 1", "has a key of more than 64 parts, which no such file needs"),
        (b"[" + b"a." * 30_000 + b"b]", "has a key of more than 64 parts, which no such file needs"),
        (b"streams = 1" + b"0" * 5000, "holds a number with thousands of digits, which no key takes"),
        (b"a.b = [0x" + b"f" * 9000 + b"]", "holds a number with thousands of digits, which no key takes"),
    ],
)
def test_what_cannot_be_read_says_why(tmp_path: Path, content: bytes, problem: str) -> None:
    path = tmp_path / "demo.toml"
    path.write_bytes(content)
    with pytest.raises(SemifError) as caught:
        read_environment(path)
    assert str(caught.value) == f"{path} {problem}"


@pytest.mark.parametrize(
    "more",
    [
        b"".join(b"k%d = 1\n" % number for number in range(90_000)),
        b"".join(b"[t%d]\n" % number for number in range(90_000)),
        b"".join(b"[a.b.c%d.d]\n" % number for number in range(50_000)),
        b'"' + b"k" * 900_000 + b'" = 1\n',
        b'[tags]\nx = "' + b"v" * 900_000 + b'"\n',
        b'"\\u001b[2J" = 1\n',
        b"x = " + b"[" * 400_000,
        b"x = " + b"{a=" * 5_000 + b"1" + b"}" * 5_000,
        b"x = \x1b[2J\n",
    ],
    ids=["keys", "tables", "deep tables", "key", "text", "escape", "brackets", "braces", "control"],
)
def test_a_hostile_file_is_told_in_a_page(tmp_path: Path, more: bytes) -> None:
    path = tmp_path / "demo.toml"
    path.write_bytes(DEMO.encode() + b"\n" + more)
    with pytest.raises(SemifError) as caught:
        read_environment(path)
    told = str(caught.value)
    assert len(told) < 20_000
    assert told.count("\n") <= MAX_LISTED + 1
    assert told.replace("\n", "").isprintable()
