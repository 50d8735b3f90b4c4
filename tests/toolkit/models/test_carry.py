"""A model's files carried to another bucket: whole, proven once, and only what is missing."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from semif.aws.s3 import S3Uri
from semif.models.packaging.build import build_model, find_model, model_place
from semif.models.packaging.carry import Carrier
from tests.support.models.small_models import preset_of
from tests.support.models.stopping import ReadBacks, StoppedError

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


@pytest.mark.parametrize("same_account", [True, False])
@pytest.mark.parametrize("read", [0, 1])
def test_files_that_were_never_read_back_are_before_they_count(
    s3: "S3Client", sound_gguf: Path, own_cache: Path, same_account: bool, read: int
) -> None:
    s3.create_bucket(Bucket="live")
    preset = preset_of(sound_gguf)
    manifest, models = preset.manifest(), (S3Uri("models", "models"), S3Uri("live", "models"))
    place, new_place = (model_place(one, manifest, "prefix") for one in models)
    build_model(preset, str(models[0]), model_format="prefix")
    with pytest.raises(StoppedError):
        Carrier(s3, s3, same_account, ReadBacks(stop_after=read)).carry_files(place, new_place, manifest)
    assert find_model(s3, preset, models[1], "prefix") is None
    done = ReadBacks()
    carried = Carrier(s3, s3, same_account, done).carry_files(place, new_place, manifest)
    assert carried == (read == 0)  # else all was there
    assert done.files == 2 - read
    assert find_model(s3, preset, models[1], "prefix") is not None
    assert not Carrier(s3, s3, same_account, done).carry_files(place, new_place, manifest)
    assert done.files == 2 - read
