"""The stacks of the modes."""

from cdk_app.app import ENDPOINT_STACKS
from semif.environment.modes import MODES


def test_every_mode_has_a_stack() -> None:
    assert ENDPOINT_STACKS.keys() == MODES.keys()
