"""How long something takes is measured by clocks that nobody sets."""

import ast
import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from semif.project.root import project_root
from tests.support.machine.waiting import eventually
from tests.support.servers.adapter_process import Adapter

SETTABLE = {"time.time", "time.time_ns", "datetime.now", "datetime.utcnow", "datetime.today", "date.today"}
TELLERS = {
    "adapter_image/semif_adapter/http/routes/v1.py",  # since when the model is there, as a day
    "adapter_image/semif_adapter/serving/telemetry.py",  # when figures were observed
    "semif/aws/aws_time.py",  # before the first word of AWS's
}
"""Where a time of day is told, or set right."""
FOLDERS = ("adapter_image/semif_adapter", "semif/client", "semif/background", "semif/aws")

SHIM = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>

static time_t ahead(void) {
    struct stat state;
    return stat(getenv("JUMPED"), &state) == 0 ? 100 * 86400 : 0;
}

int clock_gettime(clockid_t clock, struct timespec *at) {
    int (*real)(clockid_t, struct timespec *) = dlsym(RTLD_NEXT, "clock_gettime");
    int status = real(clock, at);
    if (clock == CLOCK_REALTIME) at->tv_sec += ahead();
    return status;
}

time_t time(time_t *at) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (at) *at = now.tv_sec;
    return now.tv_sec;
}
"""
"""A machine's clock that is a hundred days ahead while a file is there; others go on."""


def settable_clocks(path: Path) -> Iterator[str]:
    """The clocks that the program at `path` reads and that somebody may set."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            name = f"{node.value.id}.{node.attr}"
            if name in SETTABLE:
                yield name
        if isinstance(node, ast.ImportFrom) and node.module == "time":
            yield from (f"time.{alias.name}" for alias in node.names if f"time.{alias.name}" in SETTABLE)


def test_only_who_tells_the_time_reads_a_clock_that_can_be_set() -> None:
    root = project_root()
    paths = [path for folder in FOLDERS for path in (root / folder).rglob("*.py")]
    assert {path.relative_to(root).as_posix() for path in paths if any(settable_clocks(path))} == TELLERS


@pytest.mark.skipif(shutil.which("cc") is None, reason="a C compiler makes the clock")
def test_a_clock_that_jumps_changes_no_answer(
    start_waiting: Callable[..., Adapter], tmp_path: Path, decision: dict[str, Any]
) -> None:
    """A hundred days ahead and back, each while the engine works on a request."""
    (tmp_path / "clock.c").write_text(SHIM)
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-o", tmp_path / "clock.so", tmp_path / "clock.c", "-ldl"], check=True
    )
    jumped = tmp_path / "jumped"
    adapter = start_waiting(LD_PRELOAD=str(tmp_path / "clock.so"), JUMPED=str(jumped))
    adapter.go_on()
    eventually(adapter.ping, lambda status: status == 200)
    with ThreadPoolExecutor() as callers:
        for jump in (jumped.touch, jumped.unlink):
            request = callers.submit(adapter.ask, {"decision": decision})
            adapter.wait_for_line("waiting")
            jump()
            assert adapter.ping() == 200
            adapter.go_on()
            assert request.result()[0] == 200
    adapter.process.terminate()
    status, log = adapter.end()
    days = {json.loads(line)["time"][:10] for line in log.splitlines()}
    assert (status, len(days)) == (0, 2)
