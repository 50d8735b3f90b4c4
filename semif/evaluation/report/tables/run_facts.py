"""What a run's header tells: who was asked what, and how."""

from datetime import UTC

from semif.evaluation.report.tables.cells import ForeignText
from semif.evaluation.runs.run_file import Asking, RunHeader

SHARE_ALIKE = 0.05
"""Of a run's tasks, from which on it is told that they look like variants: a few alike change no interval."""
TARGETS = {
    "predictions": "predictions of a file",
    "baseline": "classifier trained on these labels",
    "endpoint": "SageMaker endpoint",
    "adapter": "adapter",
    "system-one": "System One server",
    "chat": "chat, which writes its answer",
}


def report_title(header: RunHeader) -> str:
    """The model where the replies name one; elsewhere who was asked."""
    return f"Evaluation of {ForeignText(header.pins.model_name or header.target.name)}"


def planned_tasks(header: RunHeader) -> int:
    """How many tasks the run is to ask."""
    total = sum(tasks.count for tasks in header.tasks)
    return total if header.asking.limit is None else min(total, header.asking.limit)


def is_asked(header: RunHeader) -> bool:
    """Whether somebody was asked; elsewhere nobody waited for a reply, and latency tells nothing."""
    return header.target.kind not in {"baseline", "predictions"}


def how_asked(asking: Asking) -> str:
    """By how many callers, or at which rate."""
    return f"{asking.concurrency} at a time" if asking.rate is None else f"{asking.rate:g} arrivals a second"


def facts(header: RunHeader) -> dict[str, str]:
    """What a run's header tells, by its title; what it does not tell is left out."""
    pins, asking, machine = header.pins, header.asking, header.machine
    known: dict[str, str | None] = {
        "asked": header.target.name,
        "as": TARGETS[header.target.kind],
        "model": pins.model_name,
        "model file, SHA-256": pins.model.sha256 if pins.model else None,
        "prompt": pins.prompt_version,
        "calibration, SHA-256": pins.calibration,
        "request, SHA-256": pins.request,
        "predictions, SHA-256": header.predictions.sha256 if header.predictions else None,
        "model data": pins.model_data,
        "image": pins.image,
        "tasks": ", ".join(f"{tasks.name} ({tasks.sha256[:12]}…)" for tasks in header.tasks),
        "orders of the options": f"as written and up to {asking.orders} further, seed {asking.seed}",
        "how": how_asked(asking) if is_asked(header) else None,
        "from": f"{machine.cpu}, CPUs: {machine.cpus}, load {machine.load_average[0]:.1f} at the start",
        "began": f"{header.started.astimezone(UTC):%Y-%m-%d %H:%M} UTC",
        "semif": f"{machine.semif}, commit {machine.commit}",
    }
    if not asking.orders:
        del known["orders of the options"]
    return {title: ForeignText(text) for title, text in known.items() if text}


def variants_note(header: RunHeader) -> str | None:
    """That tasks look like variants of each other, where more than a few do."""
    alike, count = sum(file.alike for file in header.tasks), sum(file.count for file in header.tasks)
    if alike < SHARE_ALIKE * count or not alike:
        return None
    return (
        f"{alike:,} of {count:,} tasks look like variants of others without a group in common. Intervals and "
        "tests take them for independent and promise too much: give variants the same `group`."
    )
