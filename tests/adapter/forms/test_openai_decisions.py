"""The Decisions API's parser against whatever documents come, and what its requests ask."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semif_adapter.contract.errors import InvalidRequestError, OverloadedError
from semif_adapter.contract.question import Question
from semif_adapter.contract.strict_json import read_json
from semif_adapter.forms.openai_decisions.input_types import ITEM_TYPES, PART_TYPES, ROLES
from semif_adapter.forms.openai_decisions.parse import is_ours, parse_request
from semif_adapter.forms.openai_decisions.questions import to_questions
from semif_adapter.forms.openai_decisions.refusal import refusal
from semif_adapter.forms.openai_decisions.types import (
    QUESTION_TYPES,
    OpenAIDecisionInvocation,
    OpenAIDecisionRequest,
)

SECRET = "Orchideenwasser"
PREDICATE = {"type": "predicate", "instructions": "It is on."}
IMAGE = {"type": "input_image", "image_url": "data:image/png;base64,AA=="}

ours = st.sampled_from(
    ["model", "input", "questions", "type", "role", "content", "text", "data", "call_id", "choices", "value"]
)
types = st.sampled_from([*ITEM_TYPES, *PART_TYPES, *QUESTION_TYPES, *ROLES, "input_image"])
secrets = st.builds(lambda text: SECRET + text, st.text(max_size=3))
scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | secrets
    | types
    | st.just("")
)
documents: st.SearchStrategy[Any] = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ours | secrets, inner, max_size=5),
    max_leaves=20,
)
parts = st.one_of(
    st.fixed_dictionaries({"type": st.sampled_from(["input_text", "output_text"]), "text": secrets}),
    st.fixed_dictionaries({"type": st.just("refusal"), "refusal": secrets}),
    st.fixed_dictionaries(
        {"type": st.just("input_json"), "data": st.dictionaries(secrets, documents, max_size=2)}
    ),
)
contents = secrets | st.lists(parts, max_size=3)
messages = st.fixed_dictionaries(
    {"role": st.sampled_from(ROLES), "content": contents}, optional={"type": st.just("message")}
)
choices = st.fixed_dictionaries(
    {
        "type": st.just("choice"),
        "instructions": secrets,
        "choices": st.lists(
            st.fixed_dictionaries({"value": secrets | st.booleans()}, optional={"description": st.text()}),
            min_size=2,
            max_size=5,
            unique_by=lambda choice: (type(choice["value"]), choice["value"]),
        ),
    },
    optional={"name": secrets},
)
scores = st.fixed_dictionaries(
    {
        "type": st.just("score"),
        "instructions": st.lists(parts, min_size=1, max_size=2),
        "levels": st.lists(st.fixed_dictionaries({"label": secrets}), min_size=2, max_size=5),
    }
)
questions = st.lists(st.just(PREDICATE) | choices | scores, min_size=1, max_size=4)
requests = st.fixed_dictionaries(
    {"model": secrets, "input": secrets | st.lists(messages, min_size=2, max_size=3), "questions": questions}
)
nearly_right = st.builds(
    lambda one, turns, more, extra: (
        one
        | {"questions": [*one["questions"], *more]}
        | ({} if isinstance(one["input"], str) else {"input": [*one["input"], *turns]})
        | extra
    ),
    requests,
    st.lists(
        documents | st.builds(lambda one, extra: one | extra, messages, st.dictionaries(ours, documents))
    ),
    st.lists(
        documents | st.builds(lambda one, extra: one | extra, choices, st.dictionaries(ours, documents))
    ),
    st.dictionaries(ours | secrets, documents, max_size=1),
)


def parse(document: Any) -> OpenAIDecisionInvocation:
    body = json.dumps(document).encode()
    return parse_request(read_json(body, is_ours), OpenAIDecisionRequest, max_questions=10)


def asked(input: Any, *questions: Any) -> list[Question]:  # noqa: A002 - as the wire has it
    document = {"model": "m", "input": input, "questions": list(questions or [PREDICATE])}
    return list(to_questions(parse(document)))


def said(input: Any, *questions: Any) -> str:  # noqa: A002
    with pytest.raises(InvalidRequestError) as raised:
        asked(input, *questions)
    return raised.value.message


@given(documents | nearly_right)
def test_errors_never_show_the_callers_text(document: Any) -> None:
    try:
        parse(document)
    except InvalidRequestError as error:
        body = refusal(error, behind_sagemaker=False).body.model_dump_json()
        assert SECRET not in body
        assert "<" not in body  # nor the names that unions have among us


@given(requests)
def test_a_request_that_is_right_passes_and_asks_all_of_its_questions(document: dict[str, Any]) -> None:
    sent = to_questions(parse(document))
    assert len(sent) == len(document["questions"])
    for question in sent:
        assert len({option.id for option in question.options}) == len(question.options)


def text(*lines: str) -> list[dict[str, str]]:
    return [{"type": "input_text", "text": line} for line in lines]


def data(value: Any) -> dict[str, Any]:
    return {"type": "input_json", "data": value}


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


CALL = {"type": "function_call", "call_id": "call_9f", "name": "find", "arguments": '{"order":1}'}
CUSTOM = {"type": "custom_tool_call", "call_id": "call_a0", "name": "sh", "namespace": "os", "input": "ls"}
OUTPUT = {"type": "function_call_output", "call_id": "call_9f", "output": text("sent", "twice"), "id": "x"}
CUSTOM_OUTPUT = {"type": "custom_tool_call_output", "call_id": "call_a0", "output": "a.txt"}


@pytest.mark.parametrize(
    ("sent", "state"),
    [
        ("text", "text"),
        ([user("text")], "text"),
        ([user(text("one", "two"))], "one\ntwo"),
        ([user([data({"a": [1, None]})])], {"a": [1, None]}),
        ([user([data([{"a": 1}, {"b": 2}])])], [{"a": 1}, {"b": 2}]),
        ([user([*text("see"), data({"a": "ä"})])], 'see\n{"a":"ä"}'),
        ([{"role": "system", "content": "rules"}], [{"role": "system", "content": "rules"}]),
        (
            [
                {"role": "developer", "content": "rules", "type": "message"},
                user([data({"a": 1})]),
                {"role": "assistant", "content": [{"type": "output_text", "text": "hm"}], "phase": None},
                {"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]},
            ],
            [
                {"role": "developer", "content": "rules"},
                {"role": "user", "content": {"a": 1}},
                {"role": "assistant", "content": "hm"},
                {"role": "assistant", "content": "no"},
            ],
        ),
        (
            [user("look"), CALL, CUSTOM, CUSTOM_OUTPUT, OUTPUT],
            [
                {"role": "user", "content": "look"},
                {"role": "assistant", "call": 1, "tool": "find", "content": '{"order":1}'},
                {"role": "assistant", "call": 2, "tool": "os.sh", "content": "ls"},
                {"role": "tool", "call": 2, "content": "a.txt"},
                {"role": "tool", "call": 1, "content": "sent\ntwice"},
            ],
        ),
    ],
    ids=str,
)
def test_the_input_is_the_state(sent: Any, state: Any) -> None:
    (question,) = asked(sent)
    assert question.state == state


def test_equal_conversations_are_one_state_whatever_their_call_ids() -> None:
    def renamed(item: dict[str, Any]) -> dict[str, Any]:
        return item | {"call_id": f"{item['call_id']}-again"}

    turns = [CALL, OUTPUT]
    assert asked(turns)[0].state == asked([renamed(item) for item in turns])[0].state


def test_what_is_asked() -> None:
    choices = [
        {"value": "a_b"},
        {"value": "c", "description": "see"},
        {"value": True},
        {"value": "no text", "description": ""},
    ]
    levels = [{"label": "low"}, {"label": "high", "description": "above"}]
    predicate, choice, score = asked(
        "state",
        PREDICATE | {"name": "p"},
        {"type": "choice", "instructions": [*text("Which"), data({"one": 1})], "choices": choices},
        {"type": "score", "instructions": "How much?", "levels": levels},
    )

    assert [question.kind for question in (predicate, choice, score)] == ["noul", "choice", "score"]
    assert [question.path for question in (predicate, choice, score)] == [
        "questions[0]",
        "questions[1]",
        "questions[2]",
    ]
    assert [question.text for question in (predicate, choice, score)] == [
        "It is on.",
        'Which\n{"one":1}',
        "How much?",
    ]
    assert [(option.shown, option.spoken) for option in predicate.options] == [("Yes", "yes"), ("No", "no")]
    assert [(option.shown, option.spoken) for option in choice.options] == [
        ("a_b", "a b"),
        ("c: see", "see"),
        ("true", "true"),
        ("no text", "no text"),
    ]
    assert [(option.shown, option.spoken) for option in score.options] == [
        ("low", "low"),
        ("high: above", "high: above"),
    ]


def test_a_string_and_a_boolean_of_the_same_text_are_told_apart() -> None:
    values = ["true", True, '"true"', False, "no"]
    choices = [{"value": value} for value in values]
    (question,) = asked("s", {"type": "choice", "instructions": "?", "choices": choices})
    assert [option.shown for option in question.options] == ['"true"', "true", r'"\"true\""', "false", '"no"']


CHOICE = {"type": "choice", "instructions": "?", "choices": [{"value": "a"}, {"value": "b"}]}
SCORE = {"type": "score", "instructions": "?", "levels": [{"label": "a"}, {"label": "b"}]}


@pytest.mark.parametrize(
    ("sent", "questions", "message"),
    [
        ("", [], "input must not be empty"),
        ([], [], "input must hold at least 1, got 0"),
        (None, [], "input must be a string or an array of messages and tool calls, got null"),
        ([user("")], [], "input must not be empty, there is nothing to judge"),
        ([user([])], [], "input must not be empty"),
        ([user([data({})])], [], "input must not be empty"),
        ([user([data([])])], [], "input must not be empty"),
        (["text"], [], "input[0] must be an object, got a string"),
        ([{"type": "reasoning"}], [], "input[0].type must be one of message, function_call, "),
        ([{"content": "x"}], [], "input[0].role is missing"),
        ([{"role": "tool", "content": "x"}], [], "input[0].role must be 'user', 'developer', 'system' or"),
        ([user(None)], [], "input[0].content must be a string or an array of parts, got null"),
        ([user([*text("x"), IMAGE])], [], "input[0].content[1] is an image, and this model reads text"),
        ([user([{"type": "input_file"}])], [], "input[0].content[0].type must be one of input_text"),
        ([user([{"text": "x"}])], [], "content[0].type must be one of input_text, input_json, "),
        ([user(["x"])], [], "input[0].content[0] must be an object, got a string"),
        ([user([{"type": "input_text"}])], [], "input[0].content[0].text is missing"),
        ([user([data("x")])], [], "input[0].content[0].data must be an object, or an array of objects"),
        ([user([data([1])])], [], "input[0].content[0].data must be an object, or an array of objects"),
        ([CALL, CALL], [], "input[1].call_id must be unique, input[0].call_id is the same"),
        ([OUTPUT, CALL], [], "input[0].call_id must be that of a function_call before it, there is none"),
        ([CALL, CUSTOM_OUTPUT | {"call_id": "call_9f"}], [], "that of a custom_tool_call before it"),
        ([{"type": "function_call", "call_id": "c", "name": "n"}], [], "input[0].arguments is missing"),
        ([CALL, OUTPUT | {"output": [IMAGE]}], [], "input[1].output[0] is an image"),
        ("s", ["x"], "questions[0] must be an object, got a string"),
        ("s", [{"type": "noul"}], "questions[0].type must be one of predicate, choice, score, got another"),
        ("s", [{"instructions": "x"}], "questions[0].type must be one of predicate, choice, score, got noth"),
        ("s", [{"type": "predicate"}], "questions[0].instructions is missing"),
        ("s", [PREDICATE | {"instructions": ""}], "questions[0].instructions must not be empty"),
        ("s", [PREDICATE | {"instructions": []}], "questions[0].instructions must hold at least 1, got 0"),
        ("s", [PREDICATE | {"instructions": [IMAGE]}], "questions[0].instructions[0] is an image"),
        ("s", [PREDICATE | {"name": 1}], "questions[0].name must be a string, got a number"),
        ("s", [PREDICATE | {"choices": []}], "choices is not a key of this object, allowed are type"),
        ("s", [CHOICE | {"choices": "ab"}], "questions[0].choices must be an array, got a string"),
        ("s", [CHOICE | {"choices": [{"value": "a"}]}], "questions[0].choices must hold at least 2, got 1"),
        ("s", [CHOICE | {"choices": [{"value": 1}, {"value": "1"}]}], "must be a string or a boolean, got a"),
        ("s", [CHOICE | {"choices": [{"value": ""}, {"value": "1"}]}], "choices[0].value must not be empty"),
        ("s", [CHOICE | {"choices": [{}, {"value": "1"}]}], "questions[0].choices[0].value is missing"),
        ("s", [CHOICE | {"choices": [{"value": True}] * 2}], "choices[1].value must be unique, questions"),
        ("s", [CHOICE | {"choices": [{"value": str(n)} for n in range(256)]}], "hold at most 255, got 256"),
        ("s", [SCORE | {"levels": [{"label": "a"}]}], "questions[0].levels must hold at least 2, got 1"),
        ("s", [SCORE | {"levels": [{"label": "a"}, {}]}], "questions[0].levels[1].label is missing"),
        ("s", [SCORE | {"levels": ["a", "b"]}], "questions[0].levels[0] must be an object, got a string"),
        ("s", [PREDICATE] * 11, "questions must hold at most 10, got 11"),
    ],
    ids=str,
)  # fmt: skip
def test_what_is_wrong_is_named_by_its_path(sent: Any, questions: list[Any], message: str) -> None:
    assert message in said(sent, *questions)


def test_all_problems_are_named() -> None:
    message = said([user(1), user([IMAGE])], {"type": "predicate"}, {"type": "score", "instructions": "?"})
    assert message.count("; ") == 4
    assert "questions[1].levels is missing" in message


def test_behind_sagemaker_overload_has_the_status_that_sagemaker_takes() -> None:
    error = OverloadedError("no room", retry_after_seconds=2.5)
    statuses = [refusal(error, behind_sagemaker=behind).status for behind in (True, False)]
    assert statuses == [503, 429]
    assert (
        '"message":"no room; try again in 2.5 s"'
        in refusal(error, behind_sagemaker=True).body.model_dump_json()
    )
