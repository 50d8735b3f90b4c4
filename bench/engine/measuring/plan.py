"""What a run measures: which cases, of what size, in how many rounds."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path

from bench.engine.measuring.names import LOAD
from bench.engine.measuring.workloads import (
    Case,
    Workloads,
    distinct_name,
    known_name,
    schema_name,
    state_name,
)

KEPT_ROUNDS = 5
"""A figure of fewer rounds is kept nowhere, and has no quartiles."""
FULL_PROMPT_TOKENS = 600
"""Of a request of many questions so many tokens are measured, and at least one prompt, where each is computed
from scratch and takes as long as the next."""
LONG_QUESTIONS = 8
STATES = ((50, 1), (50, 8), (300, 1), (300, 8), (300, 21), (1800, 1), (1800, 8))

Maker = Callable[[Workloads, int], Case]
"""Makes a case for the round of that number."""


@dataclass(frozen=True)
class Plan:
    """How much is measured, and on which model."""

    model: str = "embedded"
    rounds: int = KEPT_ROUNDS
    """Of each case; those that there are already count."""
    tasks: int = 8
    """Decisions of W1."""
    distinct: int = 4
    short: int = 2
    """Decisions that each client with short texts sends in W4."""
    long_tokens: int = 900
    """Length of the long texts of W4."""
    states: tuple[tuple[int, int], ...] = STATES
    """Of W2: tokens of the state, and questions about it."""
    long_question_states: tuple[int, ...] = (1800,)
    """Tokens of the states that eight questions of 35 to 63 tokens are asked about."""
    only: tuple[str, ...] = ()
    """Parts of the names of cases: those are measured. Nothing here means all."""
    gpu_layers: int = 0
    """Of everybody's model."""
    library: Path | None = None
    """A folder with llama.cpp's libraries and its llama-server, instead of the installed wheel."""

    @property
    def makers(self) -> dict[str, Maker]:
        """What makes each case but the load, by name."""
        return {
            schema_name(self.tasks): partial(Workloads.one_schema, count=self.tasks),
            **{
                state_name(tokens, count): partial(Workloads.one_state, tokens=tokens, questions=count)
                for tokens, count in self.states
            },
            **{
                state_name(tokens, LONG_QUESTIONS, are_long=True): partial(
                    Workloads.one_state, tokens=tokens, questions=LONG_QUESTIONS, are_long=True
                )
                for tokens in self.long_question_states
            },
            distinct_name(self.distinct): partial(Workloads.all_distinct, count=self.distinct),
        }

    def with_follow_ups(self, names: Sequence[str]) -> tuple[str, ...]:
        """These cases, each with its follow-up behind it."""
        long = {state_name(tokens, LONG_QUESTIONS, are_long=True) for tokens in self.long_question_states}
        pairs = ((name, known_name(name)) if name in long else (name,) for name in names)
        return tuple(chain.from_iterable(pairs))

    @property
    def names(self) -> tuple[str, ...]:
        """All there is, chosen or not, but the follow-ups."""
        return (*self.makers, LOAD)

    @property
    def chosen(self) -> tuple[str, ...]:
        """What is measured, follow-ups apart. Raises ValueError where `only` fits nothing."""
        chosen = tuple(
            name
            for name in self.names
            if not self.only
            or any(part in told for part in self.only for told in self.with_follow_ups([name]))
        )
        if not chosen:
            raise ValueError(
                f"--only {' '.join(self.only)}: no case has that in its name; choose among "
                f"{', '.join(self.names)}"
            )
        return chosen

    def check_kept(self, rounds: Mapping[str, int]) -> None:
        """Raise ValueError where a case has too few of its `rounds` for a page."""
        names = self.with_follow_ups(self.names)
        few = [f"{name} ({rounds.get(name, 0)})" for name in names if rounds.get(name, 0) < KEPT_ROUNDS]
        if few:
            raise ValueError(
                f"--keep takes at least {KEPT_ROUNDS} rounds of every case; too few have {', '.join(few)}: "
                "raise --rounds, or measure what is missing with --add"
            )
