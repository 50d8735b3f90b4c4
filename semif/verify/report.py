"""The report of a verification, dated, as Markdown and as JSON; no account number is in it."""

import json
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from semif.errors import printable
from semif.project.whole_files import write_whole
from semif.verify.step import Outcome
from semif.verify.walk import Walk

_ACCOUNT = re.compile(r"(?<![0-9A-Za-z])[0-9]{12}(?![0-9A-Za-z])")
_ORDER = ("surprise", "seen", "not shown here", "does not apply", "not run")


def write_report(folder: Path, found: Walk, *, now: datetime, region: str) -> tuple[Path, Path]:
    """Write `verify-ENV-DATE.md` and `.json` into `folder`. `now` is in UTC."""
    document = _document(found, now=now, region=region)
    name = f"verify-{found.plan.bench.of}-{now:%Y-%m-%d-%H%M}"
    pages = {".md": "\n".join(_page(document)) + "\n", ".json": json.dumps(document, indent=2) + "\n"}
    paths = [folder / f"{name}{ending}" for ending in pages]
    for path, text in zip(paths, pages.values(), strict=True):
        write_whole(path, text.encode())
    return paths[0], paths[1]


def _document(found: Walk, *, now: datetime, region: str) -> dict[str, Any]:
    plan, meter = found.plan, found.meter
    where = "this machine" if plan.bench.local else "AWS"
    return {
        "environment": plan.bench.of,
        "where": where,
        "region": region,
        "date": f"{now:%Y-%m-%d}",
        "minutes": round(meter.seconds / 60, 1),
        "usd_at_most": round(meter.usd, 2),
        "tolerance": plan.bench.tolerance,
        "exit_status": found.exit_status,
        "ended_by": found.ended_by,
        "left": [_clean(line) for line in found.left],
        "steps": [_step(outcome) for outcome in found.outcomes],
        "rows": _rows(
            found, "stays: shown on this machine" if plan.bench.local else f"AWS, {now:%Y-%m-%d}, {region}"
        ),
    }


def _step(outcome: Outcome) -> dict[str, Any]:
    step = outcome.step
    return {
        "name": step.name,
        "status": outcome.status,
        "detail": _clean(outcome.detail),
        "expected": step.expected,
        "source": step.source,
        "faithful_locally": step.faithful_locally,
        "seconds": round(outcome.seconds, 1),
    }


def _rows(found: Walk, seen: str) -> dict[str, str]:
    """For each row of verification.md that a step is for, what it may say now."""
    of_row: dict[str, list[Outcome]] = {}
    for outcome in found.outcomes:
        for row in outcome.step.rows:
            of_row.setdefault(row, []).append(outcome)
    return {row: _said(outcomes, seen) for row, outcomes in of_row.items()}


def _said(outcomes: list[Outcome], seen: str) -> str:
    """A row moves when all of its steps were seen."""
    worst = min(outcomes, key=lambda outcome: (outcome.status == "seen", _ORDER.index(outcome.status)))
    if worst.status == "seen":
        return seen
    return f"stays: {worst.step.name}, {worst.status}"


def _page(document: dict[str, Any]) -> Iterator[str]:
    yield f"# `semif verify {document['environment']}`, {document['date']}"
    yield ""
    yield (
        f"On {document['where']}, {document['region']}: {document['minutes']} minutes, instances for "
        f"${document['usd_at_most']:.2f} at most. Probabilities may differ by {document['tolerance']:g}."
    )
    if document["ended_by"]:
        yield f"\nIt ended before its end: {document['ended_by']}."
    yield ""
    if document["left"]:
        yield "**Left, and to be taken away by hand:**"
        yield ""
        yield from (f"- {line}" for line in document["left"])
    else:
        yield "Everything was taken away again."
    yield ""
    yield "| step | | what was seen, or why not | what should happen |"
    yield "|---|---|---|---|"
    for step in document["steps"]:
        said = _said_of(step)
        yield (
            f"| {step['name']} | {step['status']} | {_cell(said)} | {_cell(step['expected'])} "
            f"([source]({step['source']})) |"
        )
    yield ""
    yield "| row of docs/measured/verification.md | degree |"
    yield "|---|---|"
    yield from (f"| {_cell(row)} | {_cell(degree)} |" for row, degree in document["rows"].items())


def _said_of(step: dict[str, Any]) -> str:
    return f"not shown here: {step['detail']}" if step["status"] == "not shown here" else str(step["detail"])


def _cell(text: str) -> str:
    return printable(text).replace("|", "\\|")


def _clean(text: str) -> str:
    return _ACCOUNT.sub("ACCOUNT", text)
