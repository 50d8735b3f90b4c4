"""How `make test` deals files out to its workers: those that share what is dear to make stay together."""

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from xdist.remote import Producer
    from xdist.scheduler import LoadScopeScheduling

GROUPS = (
    # One stack after another on an AWS of its own.
    ("tests/e2e/test_chain.py",),
    # The shared AWS on this machine.
    (
        *("tests/local_aws/", "tests/e2e/test_batch.py", "tests/e2e/test_submit.py"),
        "tests/toolkit/verify/test_served_steps.py",
    ),
    # One endpoint after another.
    ("tests/e2e/test_verify.py",),
    # The served embedded model, and its first layers.
    (
        *("tests/toolkit/serve/", "tests/docs/"),
        "tests/toolkit/calibration/test_calibrate_fit.py",
        "tests/toolkit/evaluation/asking/test_evaluate.py",
        "tests/toolkit/evaluation/report/test_evaluation_suite.py",
    ),
    ("tests/e2e/test_text_chain.py",),
    ("tests/e2e/test_kev_chain.py",),
    ("tests/e2e/test_demo.py",),
    # Templates of every environment and of the matrix.
    ("tests/infra/",),
)
"""What the paths of a group begin with, the longest group first: no worker shall have one left at the end.

All other files are dealt out one by one, after them.
"""


def group_of(nodeid: str) -> str:
    """The name of a test's group: where the group's paths begin, or its own file."""
    path = nodeid.partition("::")[0]
    return next((starts[0] for starts in GROUPS if path.startswith(starts)), path)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The order in which groups are begun, and in which they run where there are no workers."""
    places = {starts[0]: place for place, starts in enumerate(GROUPS)}
    items.sort(key=lambda item: places.get(group_of(item.nodeid), len(places)))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: "Producer") -> "LoadScopeScheduling":
    """Whatever `--dist` says."""
    from xdist.scheduler import LoadScopeScheduling  # noqa: PLC0415 - only the process that deals out needs it

    class ByGroup(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return group_of(nodeid)

    config.option.loadscopereorder = False  # by their number of tests
    return ByGroup(config, log)
