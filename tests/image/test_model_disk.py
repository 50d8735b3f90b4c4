"""The model build on a disk of a known size, which takes root to make."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from semif.models.presets import load_preset
from tests.image.conftest import BUCKET, ImageBuilds

ON_A_SMALL_DISK = 'mount -t tmpfs -o "size=$BYTES" tmpfs "$DISK"; exec "$@"'


@pytest.mark.parametrize(("share", "fits"), [(2.2, True), (1.5, False)])
def test_a_model_build_needs_little_more_disk_than_model_and_archive(
    builds: ImageBuilds, tmp_path: Path, share: float, fits: bool
) -> None:
    """The disk is empty at the start. The second case shows that it is the one in use."""
    disk = tmp_path / "disk"
    disk.mkdir()
    size = int(load_preset("embedded").model.bytes * share)
    build = ["model", "build", "embedded", "--output", f"s3://{BUCKET}/disk-{share}", "--json"]
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-ceu", ON_A_SMALL_DISK, "sh", sys.executable, "-m", "semif", *build],
        env=os.environ
        | builds.aws.environment
        | {"BYTES": str(size), "DISK": str(disk), "HOME": os.environ["HOME"]}
        | {"TMPDIR": str(disk), "XDG_CACHE_HOME": str(disk)},
        capture_output=True,
        text=True,
        check=False,
    )
    if fits:
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["s3_uri"].startswith(f"s3://{BUCKET}/disk-")
    else:
        assert done.returncode == 1
        assert "no space left" in done.stderr.lower()
