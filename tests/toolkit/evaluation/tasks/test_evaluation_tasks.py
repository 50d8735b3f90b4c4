"""Files of labelled tasks: both forms, all problems at once, and not a word of the file in a message."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semif.client.questions import Question
from semif.client.values.wording import wording_of
from semif.errors import ProblemsError, SemifError
from semif.evaluation.tasks.labelled_tasks import LabelledTask
from semif.evaluation.tasks.option_orders import ordered_tasks
from semif.evaluation.tasks.task_lines import read_tasks
from semif.evaluation.tasks.task_sets import read_task_sets
from semif.project.root import project_root
from semif_adapter.contract.question import content_text
from semif_adapter.contract.wire import Option
from semif_adapter.forms.systemone.parse import parse_system_one
from semif_adapter.forms.systemone.questions import to_questions
from semif_adapter.forms.systemone.types import SystemOneInvocation

PLAIN = {
    "id": "lamp-1",
    "state": "The lamp in the hall is on.",
    "question": "Which lamp is it?",
    "options": [{"id": "hall", "description": "In the hall"}, {"id": "attic"}],
    "expected": "hall",
    "family": "lamps",
    "kind": "choice",
    "group": "g1",
}
NOUL = {
    "id": "n",
    "state": "The lamp is on.",
    "family": "fact",
    "group": None,
    "split": "public",
    "labels": ["no", "yes"],
    "question": {"type": "noul", "instructions": "Is it on?", "criteria": {"true": "Lit", "false": "Dark"}},
    "expected": "yes",
}
SCORE = {
    "id": "s",
    "state": ["broken", {"since": 3}],
    "labels": ["0", "1", "2"],
    "question": {"type": "score", "instructions": "How bad?", "criteria": ["good", "bad", "lost"]},
    "expected": 2,
}
CHOICE = {
    "state": {"lamp": "hall"},
    "labels": ["hall", "attic", "cellar"],
    "question": {
        "type": "choice",
        "criteria": {"attic": None, "cellar": {"floor": -1}, "hall": "In the hall"},
    },
    "expected": "hall",
}


def written(path: Path, *rows: object) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_a_decision_with_its_answer_is_a_task(tmp_path: Path) -> None:
    (task,) = read_tasks(written(tmp_path / "tasks.jsonl", PLAIN))
    assert (task.id, task.family, task.kind, task.group, task.expected) == (
        "lamp-1",
        "lamps",
        "choice",
        "g1",
        "hall",
    )
    assert task.decision() == {key: PLAIN[key] for key in ("id", "state", "question", "options")}


def test_published_rows_become_tasks_in_the_order_of_their_labels(tmp_path: Path) -> None:
    noul, score, choice = read_tasks(written(tmp_path / "tasks.jsonl", NOUL, SCORE, CHOICE))
    assert (noul.kind, noul.expected) == ("noul", "true")
    assert noul.decision()["options"] == [
        {"id": "false", "description": "Dark"},
        {"id": "true", "description": "Lit"},
    ]
    assert (score.kind, score.expected, score.state) == ("score", "2", SCORE["state"])
    assert [option.description for option in score.options] == ["good", "bad", "lost"]
    assert (choice.kind, choice.expected, choice.id) == ("choice", "hall", "line-3")
    assert choice.decision()["options"] == [
        {"id": "hall", "description": "In the hall"},
        {"id": "attic"},
        {"id": "cellar", "description": '{"floor":-1}'},
    ]


def test_a_noul_without_words_for_its_sides_says_yes_and_no(tmp_path: Path) -> None:
    bare = NOUL | {"question": {"type": "noul", "instructions": "Is it on?"}, "expected": "no"}
    (task,) = read_tasks(written(tmp_path / "tasks.jsonl", bare))
    assert task.decision()["options"] == [
        {"id": "false", "description": "No"},
        {"id": "true", "description": "Yes"},
    ]
    assert task.system_one() == {"type": "noul", "instructions": "Is it on?", "criteria": None}


@pytest.mark.parametrize("path", ["examples/labelled.jsonl", "bench/data/routing.jsonl"])
def test_the_projects_own_tasks_are_read(path: str) -> None:
    assert len(read_tasks(project_root() / path)) >= 40


def test_all_problems_of_a_file_are_told_with_their_lines(tmp_path: Path) -> None:
    secret = "mauve"
    path = written(
        tmp_path / "wrong.jsonl",
        PLAIN,
        PLAIN | {"id": "", "options": [{"id": secret}, {"id": secret, secret: 1}]},
        PLAIN | {"id": "b", "kind": "noul", "family": 3, "expected": secret},
        {**NOUL, "id": "c", "labels": [secret]},
        {**NOUL, "id": "d", "question": {"type": secret}},
        {**SCORE, "id": "e", "expected": 3},
        {key: value for key, value in PLAIN.items() if key not in ("id", "state", "expected")},
        [secret],
        PLAIN,
    )
    with path.open("a") as file:
        file.write(f'{{"{secret}\n\n{{"id": "x", "{secret}": 1, "{secret}": 2}}')
    with pytest.raises(ProblemsError) as caught:
        read_tasks(path)
    told = caught.value.problems
    assert told == (
        "line 2: id must not be empty",
        "line 2: options[1].#1 is not a key of this object, allowed are id, description",
        "line 3: family must be a string or null, got a number",
        'line 3: kind is noul, whose options are "true" and "false"',
        "line 3: expected must be one of the options",
        "line 4: labels must be the names of the question's answers, each once",
        "line 5: question.type must be one of noul, choice, score, got another string",
        "line 6: expected must be one of the options",
        "line 7: state is missing",
        "line 8: it must be an object, got an array",
        "line 9: id must be unique, line 1 has the same",
        "line 10: it is not JSON, see column 2",
        "line 12: #2 is a key that came before in this object",
    )


def test_of_many_problems_each_kind_is_told_once_and_all_are_counted(tmp_path: Path) -> None:
    kinds = [{"id": f"t{place}", "state": "s", f"k{place}": 1} for place in range(4)]
    foreign = [dict(reversed(row.items())) | {"text": "mauve"} for row in kinds]
    others = [PLAIN | {"id": f"other-{key}", key: 3} for key in ("family", "kind", "group", "expected")]
    with pytest.raises(ProblemsError) as caught:
        read_tasks(written(tmp_path / "tasks.jsonl", *[[]] * 30, *foreign, {"id": ""}, *others))
    first, *told = str(caught.value).splitlines()
    assert first.endswith(f"has {len(caught.value.problems)} problems:")
    assert told[0] == "  lines 1, 2, 3 and 27 more: it must be an object, got an array"
    assert told[-3].endswith("other kinds of problems")
    assert told[-2].startswith("  allowed keys: id, state, question, options, expected, family, kind, group")
    assert len(told) == 9
    (task,) = read_tasks(written(tmp_path / "advised.jsonl", json.loads(told[-1])))
    assert task.expected == "it"


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.just("mauve"),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    [*PLAIN, "labels", "mauve", "type", "instructions", "criteria", "description"]
                ),
                inner,
                max_size=6,
            )
        ),
        max_leaves=12,
    )
)
def test_no_line_is_ever_quoted(tmp_path_factory: pytest.TempPathFactory, row: Any) -> None:
    path = written(tmp_path_factory.getbasetemp() / "any.jsonl", row)
    message = ""
    try:
        read_tasks(path)
    except SemifError as error:
        message = str(error)
    assert "mauve" not in message


def test_files_that_hold_nothing_or_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(SemifError, match="holds no task"):
        read_tasks(written(tmp_path / "empty.jsonl"))
    with pytest.raises(SemifError, match=r"cannot read .*absent\.jsonl: no such file"):
        read_tasks(tmp_path / "absent.jsonl")


def test_two_files_must_not_share_an_id(tmp_path: Path) -> None:
    one, two = written(tmp_path / "one.jsonl", PLAIN), written(tmp_path / "two.jsonl", PLAIN, NOUL)
    with pytest.raises(SemifError, match=r"one\.jsonl is given twice; give each file once$"):
        read_task_sets([one, two, one])
    with pytest.raises(SemifError, match=r"two\.jsonl has ids of tasks that .*one\.jsonl has too"):
        read_task_sets([one, two])


words = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=8)
texts = st.none() | words | st.dictionaries(words, st.integers(), max_size=2)
questions = st.one_of(
    st.fixed_dictionaries(
        {"type": st.just("noul"), "instructions": words.filter(bool)},
        optional={
            "criteria": st.none() | st.fixed_dictionaries({}, optional={"true": texts, "false": texts})
        },
    ),
    st.fixed_dictionaries(
        {
            "type": st.just("choice"),
            "criteria": st.dictionaries(words.filter(bool), texts, min_size=2, max_size=5),
        },
        optional={"instructions": texts},
    ),
    st.fixed_dictionaries(
        {"type": st.just("score"), "criteria": st.lists(words, min_size=2, max_size=5)},
        optional={"instructions": texts},
    ),
)


def words_of(content: Any) -> str:
    return "" if content is None else content_text(content)


@given(questions, st.data())
def test_a_published_question_reaches_the_engine_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, question: dict[str, Any], data: st.DataObject
) -> None:
    """Through the task and back: the engine gets what System One's mapping makes of the row."""

    def mapped(asked: dict[str, Any]) -> Any:
        body = {"state": "s", "questions": {"q": asked}}
        return to_questions(parse_system_one(body, SystemOneInvocation, max_questions=1))[0]

    wanted = mapped(question)
    expected = data.draw(st.sampled_from([option.id for option in wanted.options]))
    row = {"state": "s", "question": question, "expected": expected}
    path = written(tmp_path_factory.getbasetemp() / "question.jsonl", row)
    names = [option.id for option in wanted.options]
    texts = [words_of(option.description) for option in wanted.options]
    said = [(text or name).strip() for text, name in zip(texts, names, strict=True)]
    asked = words_of(question.get("instructions"))
    blank = any(text and not text.strip() for text in (asked, *names, *texts))
    try:
        (task,) = read_tasks(path)
    except ProblemsError:  # a decision has no blank text, and no two options that say the same
        assert blank or len(set(said)) < len(said)
        return
    assert task.expected == expected
    assert mapped(task.system_one()) == wanted


def listed(count: int, kind: Any = None) -> LabelledTask:
    options = tuple(Option(id=str(number)) for number in range(count))
    return LabelledTask("t", None, kind, None, "s", "q", options, "0")


@given(st.integers(2, 7), st.integers(0, 30), st.integers())
def test_further_orders_are_other_permutations_and_always_the_same(
    count: int, orders: int, seed: int
) -> None:
    task = listed(count)
    asked = ordered_tasks([task], orders, seed, only_choices=False)
    assert asked[0].options == task.options
    assert [ordered.order for ordered in asked] == list(range(len(asked)))
    different = {ordered.option_ids for ordered in asked}
    assert len(asked) == len(different) == 1 + min(orders, math.factorial(count) - 1)
    assert all(sorted(ordered.option_ids) == sorted(asked[0].option_ids) for ordered in asked)
    assert asked == ordered_tasks([task], orders, seed, only_choices=False)


def test_orders_come_round_by_round_and_scales_keep_theirs() -> None:
    tasks = [listed(3), listed(4, "score")]
    assert [ordered.order for ordered in ordered_tasks(tasks, 1, 0, only_choices=False)] == [0, 0, 1, 1]
    assert [ordered.order for ordered in ordered_tasks(tasks, 1, 0, only_choices=True)] == [0, 0, 1]


@pytest.mark.parametrize(
    ("expected", "what"),
    [
        ("Refund", "; it is options[0] but for upper and lower case"),
        ("refund ", "; it is options[0] but for the space around it"),
        (" REFUND", "; it is options[0] but for case, space and form of Unicode"),
        ("cafe\u0301", "; it is options[1] in another form of Unicode (NFC and NFD, say)"),
        (7, "; it is a number, options[2] but for its quotes"),
        (True, "; it is a boolean, options[3] but for its quotes"),
        ("sales", ""),
        (["refund"], ""),
        (None, ""),
    ],
)
def test_a_label_that_is_nearly_an_option_is_told_so(tmp_path: Path, expected: object, what: str) -> None:
    options = [{"id": name} for name in ("refund", "caf\xe9", "7", "true")]
    row = {"state": "s", "question": "q", "options": options, "expected": expected}
    path = tmp_path / "tasks.jsonl"
    path.write_text(json.dumps(row))
    with pytest.raises(ProblemsError) as caught:
        read_tasks(path)
    assert caught.value.problems == (f"line 1: expected must be one of the options{what}",)


def test_marks_and_encodings_of_windows(tmp_path: Path) -> None:
    """As `decide`, `submit` and `batch` take them."""
    row = {"state": "s", "question": "q", "options": [{"id": "a"}, {"id": "b"}], "expected": "a"}
    path = tmp_path / "tasks.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(row).encode())
    assert [task.expected for task in read_tasks(path)] == ["a"]
    path.write_bytes(json.dumps(row).encode("utf-16"))
    with pytest.raises(SemifError, match="is in UTF-16; save it as UTF-8"):
        read_tasks(path)
    workbook = path.with_suffix(".xlsx")
    workbook.write_bytes(b"PK\x03\x04\x14")
    with pytest.raises(SemifError, match="is a workbook of Excel, or another zip archive; save it as CSV"):
        read_tasks(workbook)


def test_a_task_and_the_client_call_the_same_words_the_same() -> None:
    for task in read_tasks(project_root() / "examples" / "labelled.jsonl"):
        asked = task.decision()["options"]
        question = Question(task.question, {option["id"]: option.get("description") for option in asked})
        assert task.wording == wording_of(question.text, question.wire_options)
