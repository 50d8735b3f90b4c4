"""What a question says, as two hashes: of its text, and of its options whatever their order.

Client, policy and calibration tell by them whether a threshold is used with the words it was found on.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Wording:
    """The SHA-256 of a question's text, and of its options' ids and descriptions."""

    question_sha256: str
    options_sha256: str


def wording_of(question: str, options: Iterable[Mapping[str, str | None]]) -> Wording:
    """The hashes of a question and of its options, each with `id` and maybe `description`, as on the wire.

    The order of the options makes no difference: it is the caller's, and a labelled set shuffles it.
    """
    described = sorted(
        ([option["id"], option.get("description")] for option in options), key=lambda option: str(option[0])
    )
    return Wording(_sha256(question), _sha256(described))


def _sha256(content: object) -> str:
    return hashlib.sha256(json.dumps(content, separators=(",", ":")).encode()).hexdigest()
