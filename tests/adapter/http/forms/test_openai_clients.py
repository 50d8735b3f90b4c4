"""OpenAI's clients, unchanged, over real HTTP: the official package, LangChain's runnable, promptfoo's body.

The weights are tiny and random: what the clients read does not depend on them.
"""

import asyncio
import json
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from openai import (
    AsyncOpenAI,
    BadRequestError,
    DefaultAsyncHttpxClient,
    DefaultHttpxClient,
    NotFoundError,
    OpenAI,
    RateLimitError,
)

from semif_adapter.contract.settings import Settings
from semif_adapter.engine.engine import Engine

pytestmark = pytest.mark.filterwarnings("ignore:The class .OpenAIDecisions. is in beta")

KEY = "a-key-for-tests"
MODEL = "gpt-6-luna"
STATE = "I was charged twice for my March invoice and want one payment back."
QUESTIONS: list[Any] = [
    {"type": "predicate", "name": "refund", "instructions": "The customer asks for money."},
    {
        "type": "choice",
        "name": "team",
        "instructions": "Which team?",
        "choices": [{"value": "billing", "description": "Payments"}, {"value": "true"}, {"value": True}],
    },
    {"type": "score", "instructions": "How angry?", "levels": [{"label": "calm"}, {"label": "angry"}]},
]


class LangChain(NamedTuple):
    """What is used of LangChain: a second and a half of imports, which not every worker shall pay."""

    runnable: Any
    questions: dict[str, Any]
    states: dict[str, Any]


@pytest.fixture(scope="module")
def langchain() -> LangChain:
    with warnings.catch_warnings():  # it puts filters of its own before those of pytest
        from langchain_core.messages import AIMessage, HumanMessage  # noqa: PLC0415 - see LangChain
        from langchain_openai.decisions import Choice, Level, OpenAIDecisions, Predicate, Score  # noqa: PLC0415

    choices = {"billing": "Payments", "other": None, True: None}
    questions = {
        "refund": Predicate(instructions="The customer asks for money."),
        "team": Choice(instructions="Which team?", choices=choices),
        "anger": Score(
            instructions="How angry?", levels=["calm", Level(label="angry", description="shouts")]
        ),
    }
    states = {
        "text": STATE,
        "object": {"ticket": STATE, "open": True},
        "message": [HumanMessage(STATE)],
        "conversation": [HumanMessage(STATE), AIMessage("One moment.")],
    }
    return LangChain(OpenAIDecisions, questions, states)


@pytest.fixture(scope="module")
def url(start_module_server: Any, tiny_gguf: Callable[..., Path], library_dir: Path) -> str:
    settings = {"gguf": tiny_gguf(), "library_dir": library_dir, "readout": "letters", "threads": 1}
    settings |= {"context_tokens": 2048, "streams": 2, "api_key": KEY}
    server = start_module_server(load=lambda: Engine.load(Settings(**settings)), **settings)
    return f"http://127.0.0.1:{server.port}/v1"


@pytest.fixture(scope="module")
def client(url: str) -> Iterator[OpenAI]:
    with OpenAI(api_key=KEY, base_url=url, max_retries=0) as client:
        yield client


def test_the_official_package_gets_typed_answers(client: OpenAI) -> None:
    decision = client.decisions.create(model=MODEL, input=STATE, questions=QUESTIONS)

    predicate, choice, score = decision.answers
    assert predicate.type == "predicate"
    assert predicate.name == "refund"
    assert 0 <= predicate.probability <= 1
    assert choice.type == "choice"
    assert [item.value for item in choice.probabilities] == ["billing", "true", True]
    assert choice.choice in ("billing", "true", True)
    assert sum(item.probability for item in choice.probabilities) == pytest.approx(1)
    assert score.type == "score"
    assert score.name is None
    assert [(item.label, item.value) for item in score.probabilities] == [("calm", 0), ("angry", 1)]
    assert 0 <= score.score <= 1
    assert decision.model == "tiny-qwen3"


def test_what_was_computed_before_is_told_as_cached(client: OpenAI) -> None:
    usages = [
        client.decisions.create(model=MODEL, input=STATE + " Again.", questions=QUESTIONS[:1]).usage
        for _ in range(2)
    ]
    first, second = (usage.input_tokens_details.cached_tokens for usage in usages)
    assert first < second < usages[1].input_tokens
    assert usages[1].total_tokens == usages[1].input_tokens
    assert usages[1].output_tokens == 0


def test_the_official_package_sends_conversations_with_tool_calls(client: OpenAI) -> None:
    decision = client.decisions.create(
        model=MODEL,
        input=[
            {"role": "developer", "content": "Be strict."},
            {
                "role": "user",
                "content": [
                    {"type": "input_text", "text": STATE, "prompt_cache_breakpoint": {"mode": "explicit"}},
                    {"type": "input_json", "data": {"order": 7}},
                ],
            },
            {"type": "function_call", "call_id": "c1", "name": "find", "arguments": '{"order": 7}'},
            {"type": "function_call_output", "call_id": "c1", "output": "charged twice"},
            {"role": "assistant", "content": [{"type": "output_text", "text": "I see two charges."}]},
        ],
        questions=[{"type": "predicate", "instructions": [{"type": "input_text", "text": "It is so."}]}],
        prompt_cache_key="k",
        prompt_cache_options={"ttl": "30m"},
        safety_identifier="user-1",
    )
    assert [answer.type for answer in decision.answers] == ["predicate"]


def test_the_official_package_tells_what_is_wrong(client: OpenAI) -> None:
    image: Any = [{"role": "user", "content": [{"type": "input_image", "image_url": "data:,"}]}]
    with pytest.raises(BadRequestError, match="reads text") as refused:
        client.decisions.create(model=MODEL, input=image, questions=QUESTIONS)
    assert refused.value.param == "input[0].content[0]"
    assert refused.value.code == "invalid_request"
    assert refused.value.type == "invalid_request_error"
    assert refused.value.request_id
    with pytest.raises(NotFoundError, match="the only model here is tiny-qwen3"):
        client.decisions.create(model="another", input=STATE, questions=QUESTIONS)


def test_the_official_package_asks_from_an_event_loop(url: str) -> None:
    async def ask() -> list[str]:
        async with AsyncOpenAI(api_key=KEY, base_url=url, max_retries=0) as client:
            asked = (client.decisions.create(model=MODEL, input=STATE, questions=QUESTIONS) for _ in range(3))
            return [decision.model for decision in await asyncio.gather(*asked)]

    assert asyncio.run(ask()) == ["tiny-qwen3"] * 3


@pytest.mark.parametrize("state", ["text", "object", "message", "conversation"])
def test_langchains_runnable_gets_typed_answers(url: str, langchain: LangChain, state: str) -> None:
    request: Any = {"input": langchain.states[state], "questions": langchain.questions}
    common: Any = {"model": MODEL, "api_key": KEY, "base_url": url, "max_retries": 0}

    async def ask_async() -> Any:
        async with DefaultAsyncHttpxClient() as http:
            return await langchain.runnable(http_async_client=http, **common).ainvoke(request)

    with DefaultHttpxClient() as http:
        answered = langchain.runnable(http_client=http, **common).invoke(request)
    for response in (answered, asyncio.run(ask_async())):
        assert 0 <= response.predicates["refund"].probability <= 1
        assert list(response.choices["team"].probabilities) == ["billing", "other", True]
        assert response.scores["anger"].legend == {0: "calm", 1: "angry"}
        assert response.usage.input_tokens > 0
        assert response.request_id


def test_promptfoos_body_gets_what_its_provider_accepts(client: OpenAI) -> None:
    """The body and the checks of its provider `openai:decisions`, as its repository has them.

    No release has it yet: npm's newest, 0.123.1 of 2026-09-22, does not know the provider.
    """
    body = {"model": MODEL, "input": STATE, "questions": QUESTIONS, "safety_identifier": None}
    reply = client.post("/decisions", body=body, cast_to=object)

    assert isinstance(reply, dict)
    usage = reply["usage"]
    assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"]
    for question, answer in zip(QUESTIONS, reply["answers"], strict=True):
        assert answer["type"] == question["type"]
        assert answer["name"] == question.get("name")
    _, choice, score = reply["answers"]
    assert abs(sum(item["probability"] for item in choice["probabilities"]) - 1) < 0.01
    assert [item["value"] for item in choice["probabilities"]] == ["billing", "true", True]
    expected = sum(item["value"] * item["probability"] for item in score["probabilities"])
    assert score["score"] == pytest.approx(expected)


class FullUntilRefused:
    """A server with one place, taken until somebody was refused for it."""

    def __init__(self, start_server: Callable[..., Any], scripted: Any) -> None:
        self.entered, self.refused = threading.Event(), threading.Event()
        self.server = start_server(scripted(before=self._work), max_in_flight=1)
        self.url = f"http://127.0.0.1:{self.server.port}/v1"

    def _work(self, _: Any) -> None:
        self.entered.set()
        assert self.refused.wait(30)

    def occupy(self) -> threading.Thread:
        body = json.dumps({"model": MODEL, "input": "first", "questions": QUESTIONS[:1]}).encode()
        headers = {"content-type": "application/json"}
        first = threading.Thread(
            target=self.server.request, args=("POST", "/v1/decisions", body, headers), daemon=True
        )
        first.start()
        assert self.entered.wait(30)
        return first

    def noted(self, response: Any) -> None:
        """An event hook of the clients' HTTP: lets the place go once a 429 has come."""
        if response.status_code == 429:
            self.refused.set()

    async def noted_async(self, response: Any) -> None:
        self.noted(response)


@pytest.fixture
def full(start_server: Callable[..., Any], scripted: Any) -> Iterator[FullUntilRefused]:
    full = FullUntilRefused(start_server, scripted)
    yield full
    full.refused.set()


@pytest.mark.parametrize("which", ["openai", "openai-async", "langchain", "langchain-async"])
def test_overload_is_waited_out_by_the_clients_themselves(
    full: FullUntilRefused, langchain: LangChain, which: str
) -> None:
    first = full.occupy()

    assert ask_through(which, full, langchain) == "scripted"

    assert full.refused.is_set()
    first.join(30)


def ask_through(which: str, full: FullUntilRefused, langchain: LangChain) -> str:
    """The model that answers; the client's HTTP is its own, watched by a hook."""
    request: Any = {"input": "second", "questions": {"q": langchain.questions["refund"]}}
    sync = DefaultHttpxClient(event_hooks={"response": [full.noted]})
    common: Any = {"api_key": KEY, "base_url": full.url, "max_retries": 8}

    async def ask_async() -> str:
        async with DefaultAsyncHttpxClient(event_hooks={"response": [full.noted_async]}) as http:
            if which == "openai-async":
                client = AsyncOpenAI(http_client=http, **common)
                decision = await client.decisions.create(model=MODEL, input="second", questions=QUESTIONS[:1])
                return decision.model
            runnable = langchain.runnable(model=MODEL, http_async_client=http, **common)
            return str((await runnable.ainvoke(request)).model)

    with sync:
        if which.endswith("async"):
            return asyncio.run(ask_async())
        if which == "openai":
            client = OpenAI(http_client=sync, **common)
            return client.decisions.create(model=MODEL, input="second", questions=QUESTIONS[:1]).model
        runnable = langchain.runnable(model=MODEL, http_client=sync, **common)
        return str(runnable.invoke(request).model)


def test_without_retries_overload_is_a_rate_limit_error(full: FullUntilRefused) -> None:
    first = full.occupy()
    with (
        OpenAI(api_key=KEY, base_url=full.url, max_retries=0) as client,
        pytest.raises(RateLimitError) as told,
    ):
        client.decisions.create(model=MODEL, input="second", questions=QUESTIONS[:1])
    assert told.value.code == "overloaded"
    assert first.is_alive()
