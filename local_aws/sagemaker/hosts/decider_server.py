"""What the stand-in for Strands Decider's server checks and answers. It computes nothing.

The layout is what `StrandsDeciderModel.load` reads, the schema and the errors are those of strands-decider
0.2.0 (schema.py, server.py), the cutting is that of `_fit` in infer.py (strands-labs/strands-decider, read on
2026-11-30). Probabilities are made of a hash of state and question: no model's, and the same every time.
"""

import argparse
import hashlib
import json
import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

MODEL_FOLDER = "/opt/ml/model"
"""Where the container finds the model data; here it lies elsewhere."""
CONFIG_FILES = ("strands_decider_config.json", "hobson_config.json")
NEEDED_FILES = (
    "head.safetensors",
    "lora/adapter_config.json",
    "lora/adapter_model.safetensors",
    "tokenizer.json",
)
KNOWN_VARIABLES = {
    f"DECIDER_{name}" for name in ("ARGS", "CHECKPOINT", "DEVICE", "DEVICE_MAP", "MAX_CONCURRENCY", "WARMUP")
}
BYTES_A_TOKEN = 4
"""The stand-in has no tokenizer: so many bytes of UTF-8 count as a token."""
QUESTION_SHARE = 0.75
"""Of the window, at most, that a question keeps where state and question do not fit."""
DEFAULT_WINDOW = 4096

Criteria = str | dict[str, Any] | list[Any] | None


class CannotStartError(Exception):
    """The container would end."""


class Noul(BaseModel):
    """Yes or no."""

    type: Literal["noul"]
    instructions: str
    criteria: dict[Literal["true", "false"], Criteria] | None = None


class Choice(BaseModel):
    """One of several options."""

    type: Literal["choice"]
    instructions: str
    criteria: Annotated[dict[str, Criteria], Field(min_length=2, max_length=255)]


class Score(BaseModel):
    """A level of a scale."""

    type: Literal["score"]
    instructions: str
    criteria: Annotated[list[str], Field(min_length=2, max_length=10)]


class Asked(BaseModel):
    """A request; other keys are ignored."""

    state: str | dict[str, Any] | list[Any]
    questions: Annotated[
        dict[str, Annotated[Noul | Choice | Score, Field(discriminator="type")]], Field(min_length=1)
    ]
    images: Annotated[list[Any], Field(max_length=0)] = []


@dataclass(frozen=True)
class Server:
    """The server that the variables ask for."""

    name: str
    window: int
    strict_window: bool
    at_once: int
    """Requests that are computed together; the others wait."""

    def answer(self, asked: Asked) -> dict[str, Any]:
        """The reply but for its time. Raises ValueError where a prompt does not fit a strict window."""
        state = asked.state if isinstance(asked.state, str) else json.dumps(asked.state)
        questions = {name: question.model_dump_json() for name, question in asked.questions.items()}
        longest = max(map(tokens, questions.values()))
        if self.strict_window and tokens(state) + longest > self.window:
            raise ValueError(
                f"prompt of {tokens(state) + longest} tokens exceeds the context window of {self.window} "
                "tokens"
            )
        kept = max(1, self.window - min(longest, int(self.window * QUESTION_SHARE)))
        state = state.encode()[: kept * BYTES_A_TOKEN].decode(errors="ignore")
        return {
            "model": self.name,
            "answers": {
                name: _answer(question, f"{state}\n{questions[name]}")
                for name, question in asked.questions.items()
            },
            "usage": {
                "input_tokens": tokens(state) + sum(map(tokens, questions.values())),
                "output_tokens": len(questions),
            },
        }


def tokens(text: str) -> int:
    """How many tokens `text` counts as."""
    return math.ceil(len(text.encode()) / BYTES_A_TOKEN)


def load(variables: Mapping[str, str], model_folder: Path) -> Server:
    """The server of a container with these variables and this model data. Raises CannotStartError."""
    if unknown := sorted(
        name for name in variables if name.startswith("DECIDER_") and name not in KNOWN_VARIABLES
    ):
        raise CannotStartError(f"{unknown[0]} is no variable of the container")
    if variables.get("DECIDER_DEVICE", "cuda") != "cuda":
        raise CannotStartError("DECIDER_DEVICE must be cuda: the image is built for GPUs")
    options = _options(variables.get("DECIDER_ARGS", ""))
    checkpoint = _checkpoint(variables, model_folder)
    config = _config(checkpoint)
    _check_hashes(checkpoint)
    _check_base(config, checkpoint, _placed(variables.get("HF_HUB_CACHE", ""), model_folder))
    return Server(
        name=options.model_name or checkpoint.name,
        window=int(config.get("max_length", DEFAULT_WINDOW)),
        strict_window=options.strict_window,
        at_once=int(variables.get("DECIDER_MAX_CONCURRENCY", "1")) or 40,
    )


def _options(arguments: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="strands-decider serve", add_help=False, exit_on_error=False)
    parser.add_argument("--strict-window", action="store_true")
    parser.add_argument("--no-prefix-cache", action="store_true")
    parser.add_argument("--max-batch", type=int)
    parser.add_argument("--max-batch-tokens", type=int)
    parser.add_argument("--model-name")
    try:
        options, rest = parser.parse_known_args(shlex.split(arguments))
    except (argparse.ArgumentError, ValueError) as error:
        raise CannotStartError(f"DECIDER_ARGS: {error}") from None
    if rest:
        raise CannotStartError(f"DECIDER_ARGS: no such option: {rest[0]}")
    return options


def _placed(path: str, model_folder: Path) -> Path:
    """`path` of the container on this machine."""
    return Path(path.replace(MODEL_FOLDER, str(model_folder), 1)) if path else model_folder / "none"


def _checkpoint(variables: Mapping[str, str], model_folder: Path) -> Path:
    named = variables.get("DECIDER_CHECKPOINT")
    places = [_placed(named, model_folder)] if named else [model_folder, *sorted(model_folder.glob("*"))]
    found = [place for place in places if any((place / name).is_file() for name in CONFIG_FILES)]
    if len(found) != 1:
        raise CannotStartError(f"{len(found)} checkpoints are in {named or MODEL_FOLDER}, there must be one")
    if missing := [name for name in NEEDED_FILES if not (found[0] / name).is_file()]:
        raise CannotStartError(f"the checkpoint lacks {', '.join(missing)}")
    return found[0]


def _config(checkpoint: Path) -> dict[str, Any]:
    path = next(checkpoint / name for name in CONFIG_FILES if (checkpoint / name).is_file())
    config: dict[str, Any] = json.loads(path.read_bytes())
    return config


def _check_hashes(checkpoint: Path) -> None:
    """The real server does not look; what it says of wrong weights is no message that helps."""
    for line in (checkpoint / "MANIFEST.sha256").read_text().splitlines():
        said, _, name = line.partition("  ")
        path = checkpoint / name
        if path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() != said:
            raise CannotStartError(f"{name} is not what MANIFEST.sha256 says")


def _check_base(config: Mapping[str, Any], checkpoint: Path, cache: Path) -> None:
    model, revision = config.get("base_model"), config.get("base_revision")
    if not revision and (checkpoint / "provenance.json").is_file():
        revision = json.loads((checkpoint / "provenance.json").read_bytes()).get("base_model_revision")
    folder = cache / f"models--{str(model).replace('/', '--')}" / "snapshots" / str(revision)
    if not (folder / "config.json").is_file() or not list(folder.glob("*.safetensors")):
        raise CannotStartError(
            f"{model} at {revision} is not in the cache of the hub, and the hub is not asked"
        )


def _answer(question: Noul | Choice | Score, prompt: str) -> dict[str, Any]:
    match question:
        case Noul():
            return {"type": "noul", "noul": _shares(prompt, 2)[0]}
        case Choice(criteria=criteria):
            shares = dict(zip(criteria, _shares(prompt, len(criteria)), strict=True))
            best = max(shares, key=shares.__getitem__)
            even = 1 / len(shares)
            return {
                "type": "choice",
                "choice": best,
                "probabilities": shares,
                "confidence": round(max(0.0, (shares[best] - even) / (1 - even)), 4),
            }
        case Score(criteria=levels):
            shares_of = _shares(prompt, len(levels))
            return {
                "type": "score",
                "score": round(sum(level * share for level, share in enumerate(shares_of)), 4),
                "legend": {str(level): words for level, words in enumerate(levels)},
                "probabilities": {str(level): share for level, share in enumerate(shares_of)},
                "confidence": max(shares_of),
            }


def _shares(prompt: str, count: int) -> Sequence[float]:
    """`count` shares that add up to 1, at four decimals as the real server has them."""
    digests = (hashlib.sha256(f"{number}:{prompt}".encode()).digest() for number in range(count))
    weights = [int.from_bytes(digest[:4], "big") + 1 for digest in digests]
    return [round(weight / sum(weights), 4) for weight in weights]
