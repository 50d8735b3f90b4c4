"""What this processor has of what llama.cpp has kernels for."""

from pathlib import Path

_NAMES = {
    "avx2": "AVX2",
    "avx512f": "AVX-512",
    "avx512_vnni": "AVX-512 VNNI",
    "avx_vnni": "AVX-VNNI",
    "amx_int8": "AMX",
    "asimddp": "dot products (Arm)",
    "i8mm": "i8mm (Arm)",
    "sve": "SVE (Arm)",
}
"""Flags of /proc/cpuinfo, on x86 and on Arm."""


def processor_features(cpuinfo: str | None = None) -> list[str]:
    """Those of the first processor in /proc/cpuinfo, or in `cpuinfo`, in the words of this module."""
    lines = (Path("/proc/cpuinfo").read_text() if cpuinfo is None else cpuinfo).splitlines()
    flags = [line.split(":")[1].split() for line in lines if line.startswith(("flags", "Features"))]
    return [name for flag, name in _NAMES.items() if flags and flag in flags[0]]
