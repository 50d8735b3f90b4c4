"""The run in words: tables in Markdown, and the bars that were met or not."""

from collections.abc import Iterable, Sequence
from typing import Any

from bench.engine.measuring.names import BEST, ENGINE, FULL, JOINED, LIMIT, SERVER
from bench.engine.measuring.plan import KEPT_ROUNDS
from bench.engine.rounds.measure import Clock, Quartiles, Samples, times_as_fast
from bench.engine.rounds.record import Record

_NAMES: dict[Clock, str] = {"cpu": "CPU time", "wall": "wall clock"}


def other_clock(clock: Clock) -> Clock:
    """The one that is told second."""
    return "wall" if clock == "cpu" else "cpu"


def results_table(record: Record, clock: Clock) -> str:
    """Milliseconds a decision for each contender and case, by both clocks."""
    names = list(dict.fromkeys(name for samples in record.results.values() for name in samples))
    other = other_clock(clock)
    lines = [
        f"Milliseconds a decision by {_NAMES[clock]}; behind a stroke by {_NAMES[other]}.",
        "",
        "| case | rounds | " + " | ".join(names) + " |",
        "|---|---:|" + "---:|" * len(names),
    ]
    for case, samples in record.results.items():
        scale = 1000 / record.decisions[case]
        cells = [_cell(samples.get(name), clock, other, scale) for name in names]
        lines.append(f"| {case} | {record.rounds[case]} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cell(samples: Samples | None, clock: Clock, other: Clock, scale: float) -> str:
    if samples is None:
        return ""
    first, second = Quartiles.of(samples.of(clock)), Quartiles.of(samples.of(other))
    return f"{first.shown(1, scale)} / {second.median * scale:.1f}"


def load_table(record: Record) -> str:
    """W4: throughput, a short decision's p50 and p95, refusals."""
    lines = [
        "W4: many clients at once, with short and long texts; by the wall clock.",
        "",
        "| who | rounds | decisions/s | short p50 ms | short p95 ms | refused | CPU s |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for name, figures in record.loads.items():
        lines.append(
            f"| {name} | {len(figures['refused'])} | {_shown(figures['decisions_per_second'])} "
            f"| {_shown(figures['short_p50_ms'], 0)} | {_shown(figures['short_p95_ms'], 0)} "
            f"| {sum(figures['refused'])} | {_shown(figures['cpu_seconds'])} |"
        )
    return "\n".join(lines)


def _shown(values: Sequence[float], digits: int = 1) -> str:
    return Quartiles.of(values).shown(digits)


def bars_table(rows: Sequence[dict[str, Any]], clock: Clock) -> str:
    """The bars: wanted, measured, and whether that is short of it."""
    lines = [
        f"Times as fast by {_NAMES[clock]}, which the bar is held against; of the limit, the share of it.",
        "",
        f"| case | who / against whom | bar | measured | by {_NAMES[other_clock(clock)]} | rounds | |",
        "|---|---|---:|---:|---:|---:|---|",
    ]
    lines += [
        f"| {row['case']} | {row['ratio']} | {row['wanted']:.2f} "
        f"| {Quartiles(row['low'], row['median'], row['high'], row['rounds']).shown()} "
        f"| {'' if row['other'] is None else format(row['other'], '.2f')} | {row['rounds']} "
        f"| {'met' if row['met'] else '**short of the bar**'}{row['remark']} |"
        for row in rows
    ]
    return "\n".join(lines)


def machine_list(record: Record) -> str:
    """The machine, the settings and the runs."""
    setup = record.setup
    model, fewest = setup["model"], min(record.rounds.values(), default=0)
    weights = ", ".join(f"{share:.0%} {name}" for name, share in model["weights"].items() if share > 0.01)
    variables = " ".join(f"{name}={value}" for name, value in setup["variables"].items())
    return "\n".join(
        [
            f"- commit {setup['commit']}, mode {setup['mode']}{f', {variables}' if variables else ''}",
            f"- {setup['cpu']}, {setup['cpus']} CPUs, {setup['threads']} threads",
            f"- llama.cpp {setup['llama_cpp']}, {'; '.join(setup['devices'])}",
            f"- model {model['name']} ({model['quantization']}; matrices {weights})",
            f"- context {setup['context_tokens']} tokens, GPU layers {setup['gpu_layers']}",
            *(f"- {_run(run)}" for run in record.runs),
            f"- {fewest} round{'s' if fewest > 1 else ''} of each case at least"
            + ("; medians, with quartiles in brackets" if fewest >= KEPT_ROUNDS else ": a try-out"),
        ]
    )


def _run(run: dict[str, Any]) -> str:
    load = ", ".join(map(str, run["load_average_at_start"]))
    return f"run of {run['date']}, {run['seconds']:.0f} s, load average at its start {load}"


def whole(record: Record, rows: Sequence[dict[str, Any]], notes: Iterable[str], clock: Clock) -> str:
    """All of it."""
    parts = [machine_list(record), bars_table(rows, clock), results_table(record, clock)]
    if record.loads:
        parts.append(load_table(record))
    parts.append("\n".join(f"- {note}" for note in notes))
    return "\n\n".join(parts)


def headline(record: Record, clock: Clock) -> str:
    """The few figures that are looked for first."""
    setup, model, fewest = record.setup, record.setup["model"], min(record.rounds.values())
    where = (
        f"{setup['cpus']} CPUs of {setup['cpu']}, commit {setup['commit']}, {record.runs[-1]['date'][:10]}"
    )
    columns = (
        "adapter over HTTP",
        "joined, the engine alone",
        "each prompt whole",
        "llama-server best",
        "times its speed",
        "the engine's share of the limit",
    )
    lines = [
        f"{model['name']} ({model['quantization']}), {where}, {fewest} rounds of each case.",
        "",
        f"| {_NAMES[clock]} a decision, ms | {' | '.join(columns)} |",
        f"|---|{'---:|' * len(columns)}",
    ]
    for case, samples in record.results.items():
        scale = 1000 / record.decisions[case]
        cells = [
            f"{Quartiles.of(samples[name].of(clock)).median * scale:.0f}" if name in samples else ""
            for name in (SERVER, JOINED, FULL, BEST)
        ]
        for subject, baseline in ((SERVER, BEST), (ENGINE, LIMIT)):
            found = times_as_fast(samples, subject, baseline, clock)
            cells.append(f"{found.median:.2f}" if found else "")
        lines.append(f"| {case} | {' | '.join(cells)} |")
    if record.loads:
        lines += ["", _waiting(record)]
    return "\n".join(lines)


def _waiting(record: Record) -> str:
    lines = [
        "W4, twelve clients with short texts beside four with a long one:",
        "",
        "| who | a short answer's 95th percentile, s | decisions a second |",
        "|---|---:|---:|",
    ]
    for name, figures in record.loads.items():
        waited = Quartiles.of(figures["short_p95_ms"]).median / 1000
        rate = Quartiles.of(figures["decisions_per_second"]).median
        lines.append(f"| {name} | {waited:.1f} | {rate:.1f} |")
    return "\n".join(lines)
