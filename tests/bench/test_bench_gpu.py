"""The benchmark on a GPU ends at once where there is none, and says what is missing."""

import sys
from pathlib import Path

import pytest

from bench.gpu.__main__ import main
from bench.gpu.device import Device, devices
from semif.errors import SemifError


def _nvidia_smi(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program = folder / "nvidia-smi"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


def test_without_a_gpu_all_that_is_missing_is_told_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "argv", ["bench.gpu", "--library", str(tmp_path)])
    assert main() == 1
    said = capsys.readouterr().err
    assert said.startswith("bench.gpu: no NVIDIA driver was found here")
    assert f"--library {tmp_path} lacks libllama.so, libggml-cuda*.so, llama-server" in said


def test_a_driver_without_devices_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _nvidia_smi(tmp_path, "echo No devices were found; exit 6", monkeypatch)
    with pytest.raises(SemifError, match=r"names no device \(status 6, it says: No devices were found\)"):
        devices()


def test_devices_are_those_that_the_driver_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _nvidia_smi(tmp_path, "echo 'NVIDIA L4, 570.86.15, 23034 MiB'", monkeypatch)
    assert devices() == [Device("NVIDIA L4", "570.86.15", "23034 MiB")]
