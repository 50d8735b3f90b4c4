"""Tables as labelled tasks: CSV, JSON Lines and Parquet, asked by the command as files of tasks are."""

import csv
import io
import json
from importlib.util import find_spec
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from semif.cli import main
from semif.errors import ProblemsError, SemifError
from semif.evaluation.runs.run_file import read_run
from semif.evaluation.tasks import rows
from semif.evaluation.tasks.table_tasks import Columns, read_table
from semif.project.root import project_root
from tests.support.servers.running import running
from tests.support.servers.scripted_adapter import ScriptedAdapter

EXAMPLES = project_root() / "examples"
TEAM = {"bank": "Money", "post": ""}
COLUMNS = Columns(state="text", expected="team", question="Which team?", options=TEAM)
HEAD = "text,team,language\n"
PLAIN = [
    {"text": "Paid twice.", "team": "bank", "language": "en"},
    {"text": "Wo?", "team": "post", "language": "de"},
]


def said(*arguments: str | Path) -> tuple[int, str]:
    done = CliRunner().invoke(main, ["evaluate", "run", *map(str, arguments)])
    return done.exit_code, done.stderr


def asking(url: str, output: Path, *further: str, question: str = "Which team?") -> tuple[int, str]:
    return said(
        EXAMPLES / "tickets.csv", "--url", url, "-o", output,
        *("--state", "text", "--expected", "team", "--id", "ticket", "--question", question),
        "--options", EXAMPLES / "tickets.toml", "--slice", "language", *further,
    )  # fmt: skip


def test_a_quick_look_at_a_table_goes_on_to_the_whole(tmp_path: Path) -> None:
    output = tmp_path / "run.jsonl"
    with running(ScriptedAdapter()) as server:
        assert asking(server.url, output, "--limit", "5")[0] == 0
        assert len(server.paths) == 1 + 5  # the first is the probe
        assert asking(server.url, output, "--limit", "9")[0] == 0
        assert len(server.paths) == 2 + 9
        status, told = asking(server.url, output, "--limit", "5")
        assert (status, "limit was 9 and is 5 now" in told) == (1, True)
        status, told = asking(server.url, output, question="Which queue?")
        assert (status, "columns, question or options, by SHA-256, was" in told) == (1, True)
        assert asking(server.url, output)[0] == 0
    kept = read_run(output)
    assert kept.header.asking.limit is None
    assert [record.task for record in kept.records] == [
        f"{language}-{number}" for language in ("en", "de") for number in range(1, 13)
    ]
    assert [record.slices for record in kept.records[11:13]] == [{"language": "en"}, {"language": "de"}]
    assert kept.records[0].option_ids == ("billing", "shipping", "technical")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("comma.csv", b'\xef\xbb\xbftext,team,language\n"Paid twice.",bank,en\r\n\r\nWo?,post,de'),
        ("excel.csv", b"text;team;language\nPaid twice.;bank;en\nWo?;post;de\n"),
        ("sheet.tsv", b"text\tteam\tlanguage\nPaid twice.\tbank\ten\nWo?\tpost\tde\n"),
        ("rows.jsonl", "\n".join(map(json.dumps, PLAIN)).encode()),
    ],
)
def test_a_table_is_read_in_each_form(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    read = read_table(tmp_path / name, COLUMNS)
    assert [(task.state, task.expected) for task in read.tasks] == [("Paid twice.", "bank"), ("Wo?", "post")]
    assert read.tasks[0].decision()["options"] == [{"id": "bank", "description": "Money"}, {"id": "post"}]


def test_cells_that_are_no_text_are_read_as_csv_would_have_them(tmp_path: Path) -> None:
    made = [
        {"text": {"subject": "Hi"}, "team": 1, "who": None, "vip": True},
        {"text": 7.5, "team": 0, "who": "x", "vip": ""},
    ]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, made)))
    columns = Columns("text", "team", "Which?", {"0": "", "1": ""}, group="who", slices=("vip",))
    one, two = read_table(tmp_path / "rows.jsonl", columns).tasks
    assert (one.state, one.expected, one.group, one.slices) == ({"subject": "Hi"}, "1", None, {"vip": "true"})
    assert (two.state, two.expected, two.group, two.slices) == ("7.5", "0", "x", {})


def test_parquet_is_a_table_too(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="pyarrow is no part of the lock: 55 MB")
    import pandas  # noqa: PLC0415 - where its engine is

    pandas.DataFrame(PLAIN).to_parquet(tmp_path / "rows.parquet")
    read = read_table(tmp_path / "rows.parquet", COLUMNS)
    assert [(task.state, task.expected) for task in read.tasks] == [("Paid twice.", "bank"), ("Wo?", "post")]
    (tmp_path / "rows.parquet").write_bytes(b"PAR1")
    with pytest.raises(SemifError, match=r"cannot read .*rows\.parquet: "):
        read_table(tmp_path / "rows.parquet", COLUMNS)


def test_what_parquet_needs_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "find_spec", lambda name: None if name == "pyarrow" else find_spec(name))
    (tmp_path / "rows.parquet").write_bytes(b"PAR1")
    with pytest.raises(SemifError, match=r"needs .*pyarrow; run: pip install 'semif\[parquet\]'"):
        read_table(tmp_path / "rows.parquet", COLUMNS)


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0")), min_size=1, max_size=5))
def test_any_text_that_csv_can_quote_arrives(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str]
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.csv"
    written = io.StringIO(newline="")
    csv.writer(written).writerows([("text", "team"), *((text, "bank") for text in texts)])
    path.write_bytes(written.getvalue().encode())
    if "" in texts:
        with pytest.raises(ProblemsError) as caught:
            read_table(path, COLUMNS)
        assert len(caught.value.problems) == texts.count("")
    else:
        assert [task.state for task in read_table(path, COLUMNS).tasks] == texts


def test_rows_without_a_word_are_no_tasks(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_bytes(b"\xef\xbb\xbftext;team;x\r\na;bank;\r\n;;\r\n\r\n;;\r\n")
    assert [task.id for task in read_table(tmp_path / "rows.csv", COLUMNS).tasks] == ["line-2"]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "is empty; its first line must name the columns"),
        (b"text,text\n", "has the column 'text' twice; its first line must name the columns"),
        (HEAD.encode(), "holds no task"),
        (b"txt,team\na,bank\n", r"has no column 'text' \(--state\); its columns are 'txt', 'team'"),
        (b"text,team;x;y\na,bank;1;2\n", r"'text,team', 'x', 'y', its first line read with semicolons"),
        (HEAD.encode() + b"\xff,bank,en\n", "is not UTF-8: byte 19 is wrong; save it as CSV UTF-8"),
        ((HEAD + "a,bank,en\n").encode("utf-16"), "is in UTF-16; save it as UTF-8"),
        (b"sep=;\r\ntext;team\r\na;bank\r\n", "its first line, sep=, is for Excel alone"),
        (b"PK\x03\x04\x14", "is a workbook of Excel, or another zip archive; save it as CSV UTF-8"),
        (HEAD.encode() + b'a,bank,"en\n', "line 2: the quote of one of its cells is never closed"),
        (HEAD.encode() + b'a,bank,en\n"a\nb"c,bank,en\n', "line 3: a quote ends one of its cells too early"),
        (
            HEAD.encode() + b"a" * 200_000 + b",bank,en\n",
            "line 2: one of its cells has more than 131,072 char",
        ),
        (b'"text,team\n', "line 1: the quote of one of its cells is never closed"),
        (HEAD.encode() + b"a,bank\n", "line 2: it has 2 cells, the first line names 3 columns"),
        (HEAD.encode() + b'"a\nb",bank,en\n,Bank,en\n', r"line 4: state is missing"),
    ],
)
def test_what_is_wrong_with_a_table_is_told(tmp_path: Path, content: bytes, told: str) -> None:
    (tmp_path / "rows.csv").write_bytes(content)
    with pytest.raises(SemifError, match=told):
        read_table(tmp_path / "rows.csv", COLUMNS)


def test_a_table_of_problems_fits_a_screen_and_quotes_no_row(tmp_path: Path) -> None:
    """Each kind of problem once, however many rows have it."""
    path = tmp_path / "rows.csv"
    path.write_text("text,team\n" + "mauve,mauve\n" * 900 + ",bank\n" * 450)
    with pytest.raises(ProblemsError) as caught:
        read_table(path, COLUMNS)
    assert str(caught.value).splitlines() == [
        f"{path} has 1,350 problems:",
        "  lines 2, 3, 4 and 897 more: expected must be one of the options",
        "  lines 902, 903, 904 and 447 more: state is missing",
        "  state is the column 'text', expected the column 'team'",
        "  options: 'bank', 'post'",
    ]
    assert len(caught.value.problems) == 1350


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ((), "tickets.csv is a table: say which column is what with --state and --expected"),
        (("--state", "text"), "a table needs all of --state, --expected, --question and --options"),
        (("--slice", "language"), "a table needs all of --state, --expected, --question and --options"),
    ],
)
def test_a_table_must_be_told_what_it_is(tmp_path: Path, options: tuple[str, ...], told: str) -> None:
    status, error = said(
        EXAMPLES / "tickets.csv", "--url", "http://127.0.0.1:9", "-o", tmp_path / "run.jsonl", *options
    )
    assert status in (1, 2)
    assert told in error
