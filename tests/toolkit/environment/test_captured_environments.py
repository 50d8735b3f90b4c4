"""`[data_capture]` in environment files: where it goes, where it does not, and what is said of it."""

from typing import Any

import pytest

from semif.errors import ProblemsError

HEAD = """kind = "{kind}"
removal = "destroy"
[model]
preset = "embedded"
[endpoint]
instance_type = "ml.c6i.xlarge"
mode = "{mode}"
[data_capture]
{keys}
"""


def text(kind: str = "decision", mode: str = "realtime", keys: str = "sampling_percent = 5") -> str:
    return HEAD.format(kind=kind, mode=mode, keys=keys)


def test_callers_texts_are_warned_of(environment_of: Any) -> None:
    environment = environment_of(text())
    assert environment.data_capture.expiry_days == 30
    assert (
        "data_capture: what callers send is kept word for word for 30 days, 5 % of it; tell them, and mind "
        "who may read the bucket"
    ) in environment.warnings


@pytest.mark.parametrize(
    ("file", "said"),
    [
        (text(kind="text"), r"kind = 'text': .* to our adapter .*, and here the published container answers"),
        (text(kind="decider"), r"kind = 'decider': .*, and here the container for Strands Decider answers"),
        (text(mode="async"), r"\[data_capture\] is for realtime .*: a queue has all requests and answers"),
        (
            text(mode="batch"),
            r"\[data_capture\] does not go with endpoint\.mode = 'batch'.* are files already",
        ),
        (text(keys="sampling_percent = 0"), r"data_capture\.sampling_percent = 0"),
        (text(keys="expiry_days = 7"), r"data_capture\.sampling_percent is missing"),
        (text(keys='sampling_percent = 5\nbucket = "mine"'), r"data_capture\.bucket is not a known key"),
    ],
)
def test_what_cannot_be_captured_is_refused(environment_of: Any, file: str, said: str) -> None:
    with pytest.raises(ProblemsError, match=said):
        environment_of(file)
