"""The run in words: tables in Markdown, and the bars that were met or not."""

from collections.abc import Sequence
from typing import Any

from bench.engine.rounds.measure import Quartiles, Results


def results_table(results: Results, decisions: dict[str, int]) -> str:
    """Milliseconds a decision for each contender and case, and CPU milliseconds."""
    names = list(dict.fromkeys(name for samples in results.values() for name in samples))
    lines = [
        "Milliseconds a decision, then CPU milliseconds of the process.",
        "",
        "| case | " + " | ".join(names) + " |",
        "|---|" + "---:|" * len(names),
    ]
    for case, samples in results.items():
        cells = []
        for name in names:
            if name not in samples:
                cells.append("")
                continue
            scale = 1000 / decisions[case]
            wall, cpu = Quartiles.of(samples[name].wall), Quartiles.of(samples[name].cpu)
            cells.append(f"{wall.shown(1, scale)} cpu {cpu.median * scale:.1f}")
        lines.append(f"| {case} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def load_table(loads: dict[str, Any]) -> str:
    """W4: throughput, a short decision's p50 and p95, refusals."""
    lines = [
        "W4: many clients at once, with short and long texts.",
        "",
        "| who | decisions/s | short p50 ms | short p95 ms | refused | cpu s |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for name, figures in loads.items():
        lines.append(
            f"| {name} | {_shown(figures['decisions_per_second'])} | {_shown(figures['short_p50_ms'], 0)} "
            f"| {_shown(figures['short_p95_ms'], 0)} | {sum(figures['refused'])} "
            f"| {_shown(figures['cpu_seconds'])} |"
        )
    return "\n".join(lines)


def _shown(values: Sequence[float], digits: int = 1) -> str:
    return Quartiles.of(values).shown(digits)


def bars_table(rows: Sequence[dict[str, Any]]) -> str:
    """The bars: wanted, measured, and whether that is short of it."""
    lines = [
        "Times as fast; of the limit, the share of it.",
        "",
        "| case | who / against whom | bar | measured | by CPU time | |",
        "|---|---|---:|---:|---:|---|",
    ]
    lines += [
        f"| {row['case']} | {row['ratio']} | {row['wanted']:.2f} "
        f"| {Quartiles(row['low'], row['median'], row['high'], row['rounds']).shown()} "
        f"| {row['cpu_median']:.2f} | {'met' if row['met'] else '**short of the bar**'} |"
        for row in rows
    ]
    return "\n".join(lines)


def machine_list(machine: dict[str, Any]) -> str:
    """The machine and the run's settings."""
    model = machine["model"]
    return "\n".join(
        [
            f"- {machine['date']}, commit {machine['commit']}",
            f"- {machine['cpu']}, {machine['cpus']} CPUs, {machine['threads']} threads",
            f"- load average at start {', '.join(map(str, machine['load_average_at_start']))}",
            f"- llama.cpp {machine['llama_cpp']}, {'; '.join(machine['devices'])}",
            (
                f"- model {model['name']} ({model['quantization']}), {machine['mode']} mode, "
                f"context {machine['context_tokens']} tokens"
            ),
            f"- {_rounds(machine['rounds'], machine['seconds'])}",
        ]
    )


def _rounds(count: int, seconds: float) -> str:
    if count == 1:
        return f"one round in {seconds:.0f} s"
    return f"{count} rounds in {seconds:.0f} s; medians, with quartiles in brackets"


def whole(report: dict[str, Any], results: Results) -> str:
    """All of it."""
    parts = [
        machine_list(report["machine"]),
        bars_table(report["bars"]),
        results_table(results, report["decisions"]),
    ]
    if report["load"]:
        parts.append(load_table(report["load"]))
    parts.append("\n".join(f"- {note}" for note in report["notes"]))
    return "\n\n".join(parts)
