"""How tasks are put into requests, and what is taken for an answer."""

import json
import math
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semif.evaluation.asking.forms import RequestForm
from semif.evaluation.asking.forms.chat import ChatForm
from semif.evaluation.asking.forms.chat_request import chat_request
from semif.evaluation.asking.forms.decision import DecisionForm
from semif.evaluation.asking.forms.named_option import named_option
from semif.evaluation.asking.forms.system_one import SystemOneForm
from semif.evaluation.runs.run_file import Record
from semif.evaluation.runs.task_record import ReplyContent
from semif.evaluation.tasks.labelled_tasks import LabelledTask
from semif.evaluation.tasks.option_orders import OrderedTask
from semif_adapter.contract.wire import Option, QuestionKind

OPTIONS = (
    Option(id="track_order", description="Where is it?"),
    Option(id="refund", description="Money back"),
    Option(id="other"),
)


def ordered(kind: QuestionKind = "choice", *names: str) -> OrderedTask:
    options = tuple(Option(id=name) for name in names) or OPTIONS
    task = LabelledTask(
        "t", None, kind, None, "My parcel is late.", "What is wanted?", options, options[0].id
    )
    return OrderedTask(task, 0, options)


@pytest.mark.parametrize(
    ("text", "choice"),
    [
        ("B", "refund"),
        (" B.\n", "refund"),
        ("(B)", "refund"),
        ("**B**", "refund"),
        ("B) refund", "refund"),
        ("B. refund: Money back", "refund"),
        ("b", None),
        ("refund", "refund"),
        ('"Refund."', "refund"),
        ("track order", "track_order"),
        ("Money back", "refund"),
        ("D", None),
        ("B) other", None),
        ("", None),
        ("The customer wants a refund.", None),
        ("A or B", None),
        ("I would say B", None),
        ("B, because they want money", None),
    ],
)
def test_only_words_that_are_an_option_are_an_answer(text: str, choice: str | None) -> None:
    assert named_option(text, OPTIONS) == choice


@given(st.text())
def test_no_words_are_an_answer_that_do_not_name_it(text: str) -> None:
    choice = named_option(text, OPTIONS)
    if choice is not None:
        option = next(option for option in OPTIONS if option.id == choice)
        said = text.casefold().replace("_", " ")
        names = [option.id.replace("_", " "), option.description or "", "ABC"[OPTIONS.index(option)]]
        assert any(name and name.casefold() in said for name in names)


def test_many_options_are_numbered() -> None:
    names = [f"queue-{number}" for number in range(1, 28)]
    asked = json.loads(ChatForm().body(ordered("choice", *names)))
    assert "27. queue-27" in asked["messages"][0]["content"]
    assert "Answer with one number only." in asked["messages"][0]["content"]
    options = ordered("choice", *names).options
    found = [named_option(text, options) for text in ("27", "3) queue-3", "28")]
    assert found == ["queue-27", "queue-3", None]


def chat_reply(text: str | None, **more: Any) -> bytes:
    return json.dumps({"model": "m", "choices": [{"message": {"content": text}}], **more}).encode()


def test_a_chats_words_tokens_and_times_are_read() -> None:
    reply = chat_reply(
        "A",
        usage={"prompt_tokens": 40, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 30}},
        timings={"prompt_ms": 120.0, "predicted_ms": 30},
    )
    found = ChatForm().read(ordered(), reply)
    assert found == ReplyContent(
        choice="track_order", input_tokens=40, cached_tokens=30, output_tokens=2, server_seconds=0.15
    )
    assert ChatForm().pins(reply).model_name == "m"
    assert ChatForm().read(ordered(), chat_reply("I cannot tell")).status == "unparsable"
    assert ChatForm().read(ordered(), chat_reply(None)).status == "unparsable"


@pytest.mark.parametrize(
    ("paths", "reply", "status", "choice"),
    [
        (["result.label"], {"result": {"label": "refund"}}, "answered", "refund"),
        (["labels[0].name"], {"labels": [{"name": "Track order"}]}, "answered", "track_order"),
        (["result.label"], {"result": {"label": "B"}}, "unparsable", None),
        (["result.label"], {"result": {"label": 7}}, "unparsable", None),
        (["result"], {"result": {"label": "refund"}}, "failed", None),
        (["result.label"], {"label": "refund"}, "failed", None),
        (["length(result)"], {"result": 1}, "failed", None),
        (["text", "team"], {"text": '{"team": "refund", "why": "…"}'}, "answered", "refund"),
        (["text", "team"], {"text": "refund"}, "unparsable", None),
        (["text", "team"], {"text": '{"queue": "refund"}'}, "unparsable", None),
    ],
)
def test_an_answer_is_found_where_the_reply_has_it(
    paths: list[str], reply: Any, status: str, choice: str | None
) -> None:
    form = ChatForm(chat_request(prompt="{state}", answer=paths))
    found = form.read(ordered(), json.dumps(reply).encode())
    assert (found.status, found.choice) == (status, choice)


def test_a_letter_is_an_answer_only_where_letters_were_shown() -> None:
    shown, hidden = (ChatForm(chat_request(prompt=prompt)) for prompt in ("{state} {options}", "{state}"))
    assert shown.read(ordered(), chat_reply("B")).choice == "refund"
    assert hidden.read(ordered(), chat_reply("B")).status == "unparsable"


@given(st.text())
def test_a_state_is_sent_as_it_is(state: str) -> None:
    """Whatever it holds: braces, quotes, the name of a place."""
    task = replace(ordered().task, state=state)
    form = ChatForm(chat_request(prompt='{"json": "{state}", "place": "{other}"}', system="{question}"))
    system, user = json.loads(form.body(OrderedTask(task, 0, OPTIONS)))["messages"]
    assert system == {"role": "system", "content": "What is wanted?"}
    assert user["content"] == f'{{"json": "{state}", "place": "{{other}}"}}'


def system_one_reply(answer: object, **more: Any) -> bytes:
    return json.dumps({"model": "m", "answers": {"task": answer}, **more}).encode()


@pytest.mark.parametrize(
    ("asked", "answer", "choice", "probabilities"),
    [
        (ordered("noul", "false", "true"), {"type": "noul", "noul": 0.75}, "true", (0.25, 0.75)),
        (
            ordered("choice", "b", "a"),
            {"type": "choice", "choice": "a", "probabilities": {"a": 0.75, "b": 0.25}},
            "a",
            (0.25, 0.75),
        ),
        (
            ordered("score", "0", "1", "2"),
            {"type": "score", "score": 1.0, "probabilities": {"0": 0.25, "1": 0.5, "2": 0.25}},
            "1",
            (0.25, 0.5, 0.25),
        ),
    ],
)
def test_system_ones_answers_are_read_in_the_order_asked(
    asked: OrderedTask, answer: object, choice: str, probabilities: tuple[float, ...]
) -> None:
    found = SystemOneForm().read(
        asked, system_one_reply(answer, usage={"input_tokens": 7, "output_tokens": 0})
    )
    assert (found.choice, found.probabilities, found.input_tokens) == (choice, probabilities, 7)


def test_system_one_is_asked_in_the_order_of_the_job() -> None:
    asked = ordered()
    turned = OrderedTask(asked.task, 1, asked.options[::-1])
    (question,) = json.loads(SystemOneForm().body(turned))["questions"].values()
    assert list(question["criteria"]) == ["other", "refund", "track_order"]


@pytest.mark.parametrize(
    "numbers",
    [[0.5, 0.6], [0.5], [0.3, 0.3, 0.4], [-0.1, 1.1], [math.nan, 1.0], ["0.5", "0.5"], [None, True]],
)
def test_numbers_that_are_no_probabilities_are_no_answer(numbers: list[Any]) -> None:
    answer = {"type": "choice", "choice": "a", "probabilities": dict(zip("abc", numbers, strict=False))}
    found = SystemOneForm().read(ordered("choice", "a", "b"), system_one_reply(answer))
    assert found.status == "failed"
    assert found.error is not None
    assert found.error.code == "invalid_answer"


KEYS = ["answers", "task", "type", "probabilities", "choices", "message", "content", "result", "usage"]
anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=10,
)


@pytest.mark.parametrize("form", [DecisionForm(), SystemOneForm(), ChatForm()])
@given(anything | st.just({"choices": [{"message": {"content": ["no", "text"]}}]}))
def test_no_reply_stops_a_run(form: RequestForm, document: Any) -> None:
    reply = json.dumps(document).encode()
    assert form.read(ordered(), reply).status in ("failed", "unparsable")
    form.pins(reply)


@given(
    st.dictionaries(
        st.sampled_from(["usage", "x_timing", "timings", "model"]),
        st.dictionaries(
            st.sampled_from(
                [
                    "input_tokens",
                    "output_tokens",
                    "prefix_cached_tokens",
                    "total_seconds",
                    "prompt_tokens",
                    "completion_tokens",
                    "prompt_tokens_details",
                    "prompt_ms",
                    "predicted_ms",
                ]
            ),
            anything,
        ),
    ),
    anything,
)
def test_odd_figures_beside_an_answer_are_left_out(more: dict[str, Any], mass: Any) -> None:
    """Whatever a server says of its tokens and times, the answer can be recorded."""
    probabilities = {"track_order": 1, "refund": 0, "other": 0.0}
    answer = {"type": "choice", "probabilities": probabilities, "x_allowed_token_mass": mass}
    for form, reply in (
        (SystemOneForm(), system_one_reply(answer, **more)),
        (ChatForm(), chat_reply("A", **more)),
    ):
        record = recorded(form.read(ordered(), reply))
        assert (record.status, record.choice) == ("answered", "track_order")
        assert Record.model_validate_json(record.model_dump_json()) == record


def recorded(content: ReplyContent) -> Record:
    return Record(
        task="t",
        family=None,
        kind=None,
        group=None,
        order=0,
        option_ids=tuple(option.id for option in OPTIONS),
        expected="refund",
        asked=datetime.now(UTC),
        client_seconds=0.0,
        **vars(content),
    )


@pytest.mark.parametrize("form", [DecisionForm(), SystemOneForm(), ChatForm()])
@pytest.mark.parametrize("reply", [b"", b"\xff", b"<html>", b"[" * 100_000, b"[]"])
def test_no_bytes_stop_a_run(form: RequestForm, reply: bytes) -> None:
    assert form.read(ordered(), reply).status == "failed"
    form.pins(reply)
