"""What an instance of CPUs computes, estimated from what one core of another machine was measured to compute.

For a plan before there is an endpoint, or anything else, to ask. Every step of the estimate is told.
"""

import csv
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from semif.errors import SemifError
from semif.models.presets import Preset
from semif.sagemaker.instances import InstanceType

RATES_FILE = "token_rates.csv"
NOTES = (
    "What one core computes of a prompt: tokens for each second of CPU time, by a model whose layers have",
    "layer_bytes. Written by `python -m bench.quantisations --keep`; more of the run is in",
    "docs/measured/performance-quantisations.md.",
)
KERNELS = ("AMX", "AVX-512 VNNI", "AVX-512", "AVX2")
"""Of llama.cpp; a processor that has one of them has those behind it too."""
_FAMILIES = {
    ("c4", "m4"): ("AVX2", "Haswell or Broadwell"),
    ("c5", "c5d", "m5", "m5d", "r5", "r5d"): ("AVX-512", "Skylake or Cascade Lake, as it comes"),
    ("c6i", "c6in", "m6i", "r6i"): ("AVX-512 VNNI", "Ice Lake"),
    ("c7i", "m7i", "r7i"): ("AMX", "Sapphire Rapids"),
}
"""Kernels and Intel's generation of x86 families; docs/choosing.md has the sources. t2 is left out: its CPUs
are lent by credits, which a steady load uses up."""
_VCPUS_PER_CORE = 2
"""Of these families, the second a hyperthread (EC2's DescribeInstanceTypes)."""


class Rate(NamedTuple):
    """One measurement, a row of the table."""

    kernels: str
    quantization: str
    tokens_per_second: float
    """For each second of CPU time of one core."""
    layer_bytes: int
    """Of the measured model's layers, which every token is multiplied with."""
    processor: str
    llama_cpp: str
    measured_on: str

    @classmethod
    def table(cls, text: str) -> "list[Rate]":
        """The rows of a table's `text`."""
        rows = csv.DictReader(line for line in text.splitlines() if not line.startswith("#"))
        return [
            cls(
                row["kernels"],
                row["quantization"],
                float(row["tokens_per_second"]),
                int(row["layer_bytes"]),
                row["processor"],
                row["llama_cpp"],
                row["measured_on"],
            )
            for row in rows
        ]


class EstimatedRate(NamedTuple):
    """Tokens per second of an instance, and what they were made from."""

    tokens_per_second: float
    derivation: tuple[str, ...]


def estimate_rate(instance: InstanceType, preset: Preset, threads: int | None = None) -> EstimatedRate:
    """What `instance` computes with the model of `preset`, on `threads` (all its CPUs).

    Raises SemifError where nothing was measured that it could be made from.
    """
    kernels, _ = _processor(instance)
    able = KERNELS[KERNELS.index(kernels) :]
    measured = [
        rate
        for name in able
        for rate in measured_rates()
        if (rate.kernels, rate.quantization) == (name, preset.quantization)
    ]
    if not measured:
        known = ", ".join(dict.fromkeys(rate.quantization for rate in measured_rates()))
        raise SemifError(
            f"no rate of {preset.quantization}, the type of {preset.name}, was measured; measured are "
            f"{known}; {_OWN_RATE}"
        )
    return _scaled(measured[0], instance, preset, threads)


def _scaled(rate: Rate, instance: InstanceType, preset: Preset, threads: int | None) -> EstimatedRate:
    kernels, generation = _processor(instance)
    cores = min(instance.vcpus // _VCPUS_PER_CORE, threads or instance.vcpus)
    other = "" if rate.kernels == kernels else f"; its kernels for {kernels} were not measured"
    layers, file = (f"{size / 1e6:,.0f} MB" for size in (rate.layer_bytes, preset.bytes))
    measured = (
        f"measured: {rate.tokens_per_second:g} tokens/s a core of {rate.processor}, {rate.quantization}, "
        f"{layers} of layers, kernels for {rate.kernels} of llama.cpp {rate.llama_cpp}, on {rate.measured_on}"
    )
    grows = (
        f"time grows with the model's file, {file}: its embeddings count as layers, which makes the rate too "
        "low rather than too high"
    )
    return EstimatedRate(
        rate.tokens_per_second * rate.layer_bytes / preset.bytes * cores,
        (
            f"the rate was not measured on {instance.name} but derived: measure there as soon as you can",
            measured,
            f"{instance.name} has cores of {generation}, taken to be as fast as those{other}",
            f"{cores} of its cores are taken to be {cores} times as fast as one; no more than two were tried",
            grows,
            "prompts are short: thousands of tokens deep, models with full attention compute fewer a second",
        ),
    )


_OWN_RATE = (
    "give --tokens-per-second from a measurement of your own (docs/choosing.md tells how), or --url of an "
    "adapter that runs there"
)


def _processor(instance: InstanceType) -> tuple[str, str]:
    """The best kernels that it has, and its processors' generation."""
    for families, processor in _FAMILIES.items():
        if instance.family in families:
            return processor
    raise SemifError(f"no rate of {instance.name}, or of anything like it, was measured; {_OWN_RATE}")


@cache
def measured_rates() -> list[Rate]:
    """All that was measured."""
    return Rate.table((files("semif.deployment.endpoint") / RATES_FILE).read_text(encoding="utf-8"))
