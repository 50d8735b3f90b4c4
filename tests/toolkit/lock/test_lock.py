"""Locks: one byte form, nothing unknown, and only what fits environment, preset and account."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from semif.environment.environment import Environment, load_environment
from semif.errors import ProblemsError, SemifError
from semif.images.base_images import base_image
from semif.lock.check import check_lock
from semif.lock.lock_file import LOCAL_ACCOUNT, Lock, read_lock, write_lock
from semif.models.presets import load_preset
from semif_adapter.archive.manifest import ModelManifest

ExampleLock = Callable[[Environment], Lock]
HASH = "a" * 64
LOCKS = Path(__file__).parents[2] / "infra" / "locks"


@pytest.fixture
def demo() -> Environment:
    return load_environment("demo")


@pytest.fixture
def manifest(demo: Environment) -> ModelManifest:
    return load_preset(demo.model.preset).manifest()


@pytest.fixture
def content(example_lock: ExampleLock, demo: Environment) -> dict[str, Any]:
    return json.loads(example_lock(demo).canonical_bytes())


@pytest.mark.parametrize("path", sorted(LOCKS.glob("*.json")), ids=lambda path: path.stem)
def test_the_example_locks_are_up_to_date(example_lock: ExampleLock, path: Path) -> None:
    wanted = example_lock(load_environment(path.stem))
    assert read_lock(path) == wanted, "run python tests/infra/example_locks.py"


def test_no_example_stands_beside_an_environment(root: Path) -> None:
    for path in (root / "environments").glob("*.lock.json"):
        assert not read_lock(path).example


def test_a_lock_has_one_byte_form(tmp_path: Path, example_lock: ExampleLock, demo: Environment) -> None:
    path = tmp_path / "locks" / "demo.lock.json"
    lock = example_lock(demo)
    write_lock(path, lock)
    first = path.read_bytes()
    assert read_lock(path) == lock
    write_lock(path, read_lock(path))
    assert path.read_bytes() == first
    assert json.loads(first)["schema"] == 1
    assert [item.name for item in path.parent.iterdir()] == ["demo.lock.json"]
    path.write_text(json.dumps(json.loads(first)))
    with pytest.raises(SemifError, match=r"not in its canonical form .*; run `semif build demo`"):
        read_lock(path)


def test_only_an_example_says_so(example_lock: ExampleLock, demo: Environment) -> None:
    assert b'"example": true' in example_lock(demo).canonical_bytes()
    assert b"example" not in example_lock(demo).model_copy(
        update={"example": False}
    ).canonical_bytes().replace(b"-example", b"")


def test_a_write_that_fails_leaves_nothing(
    tmp_path: Path, example_lock: ExampleLock, demo: Environment
) -> None:
    taken = tmp_path / "demo.lock.json"
    taken.mkdir()
    with pytest.raises(SemifError, match=r"cannot write .*demo\.lock\.json"):
        write_lock(taken, example_lock(demo))
    assert [path.name for path in tmp_path.iterdir()] == ["demo.lock.json"]


@pytest.mark.parametrize(
    ("path", "value", "problem"),
    [
        (["schema"], 2, "schema = 2: must be 1"),
        (["kind"], "poem", "kind = 'poem'"),
        (["account"], "1234", "account: '1234' must be 12 digits"),
        (["colour"], "red", "colour is not a known key"),
        (["image", "uri"], "repo:latest", "image.uri: the image reference 'repo:latest' names a tag"),
        (["image", "uri"], f"repo:v1@sha256:{HASH}", "has a tag beside its digest"),
        (["image", "base"], f"repo@sha256:{HASH.upper()}", "image.base: the image reference"),
        (["image", "tag"], "v1", "image.tag is not a known key"),
        (["image"], {"built": True, "source_sha256": HASH}, "image.built = true: must be False"),
        (["image"], {"built": False, "source_sha256": HASH}, "only the AWS on this machine allows that"),
        (["model", "archive_sha256"], "abc", "model.archive_sha256 = 'abc'"),
        (["model", "format"], "zip", "model.format = 'zip'"),
        (["model", "s3_uri"], "https://bucket/key", "model.s3_uri = 'https://bucket/key'"),
        (["model", "hf_repo"], "owner/repo", "model.hf_repo is not a known key"),
    ],
)
def test_what_is_refused(
    tmp_path: Path, content: dict[str, Any], path: list[str], value: object, problem: str
) -> None:
    place = content
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    file = tmp_path / "x.lock.json"
    file.write_text(json.dumps(content))
    with pytest.raises(ProblemsError) as caught:
        read_lock(file)
    assert problem in str(caught.value)


def test_all_problems_are_said_at_once(tmp_path: Path, content: dict[str, Any]) -> None:
    content["image"]["uri"] = "repo:latest"
    del content["image"]["base"]
    content["model"]["format"] = "zip"
    content["colour"] = "red"
    file = tmp_path / "x.lock.json"
    file.write_text(json.dumps(content))
    with pytest.raises(ProblemsError) as caught:
        read_lock(file)
    keys = [problem.split()[0].rstrip(":") for problem in caught.value.problems]
    assert keys == ["image.uri", "image.base", "model.format", "colour"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "is not a lock"),
        ("[]", r"lock\.json: \[\]: must be a table \(in JSON an object\)$"),
        ('{"schema": 1, "schema": 1}', "the key 'schema' stands twice"),
        ("[" * 30_000, "is not a lock: .*; run `semif build dev` to write it anew"),
        ('{\n<<<<<<< HEAD\n"schema": 1\n=======\n>>>>>>> other\n}', "holds the marks of a merge conflict"),
        (" " * 70_000, "is longer than 65,536 bytes"),
    ],
)
def test_what_is_no_lock_at_all(tmp_path: Path, text: str, problem: str) -> None:
    file = tmp_path / "dev.lock.json"
    file.write_text(text)
    with pytest.raises(SemifError, match=problem):
        read_lock(file)


def test_a_missing_lock_says_what_writes_it(tmp_path: Path) -> None:
    with pytest.raises(SemifError, match="run `semif build dev`, which writes it"):
        read_lock(tmp_path / "dev.lock.json")


def test_an_unbuilt_image_names_itself(content: dict[str, Any]) -> None:
    content["account"] = LOCAL_ACCOUNT
    content["image"] = {"built": False, "source_sha256": HASH}
    lock = Lock.model_validate(content)
    assert lock.image_uri == f"000000000000.dkr.ecr.eu-central-1.amazonaws.com/unbuilt@sha256:{HASH}"


@pytest.fixture
def text() -> Environment:
    return load_environment("text")


def test_a_text_lock_holds_the_published_image_and_what_it_was_resolved_from(
    example_lock: ExampleLock, text: Environment
) -> None:
    lock = example_lock(text)
    content = json.loads(lock.canonical_bytes())
    assert (content["kind"], set(content["image"])) == ("text", {"uri", "base"})
    assert content["image"]["base"] == str(base_image("cpu"))
    assert lock.image_uri == content["image"]["uri"]
    assert lock.image_uri.endswith(base_image("cpu").digest)


@pytest.mark.parametrize(
    ("name", "image", "problem"),
    [
        ("text", {"source_sha256": HASH}, "kind 'text' runs the published image"),
        ("text", {"built": False, "source_sha256": HASH}, "image.uri is not a known key"),
        ("demo", {"source_sha256": None}, "source_sha256 is missing"),
    ],
)
def test_each_kind_has_its_own_image(
    tmp_path: Path, example_lock: ExampleLock, name: str, image: dict[str, object], problem: str
) -> None:
    content = json.loads(example_lock(load_environment(name)).canonical_bytes())
    content["image"] = {
        key: value for key, value in {**content["image"], **image}.items() if value is not None
    }
    file = tmp_path / "x.lock.json"
    file.write_text(json.dumps(content))
    with pytest.raises(ProblemsError) as caught:
        read_lock(file)
    assert problem in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("@sha256:1", "@sha256:2"),
        ("763104351884.dkr", "111122223333.dkr"),
        ("ecr.eu-central-1", "ecr.us-east-1"),
        ("/llama-cpp@", "/llama-cpp-arm64@"),
    ],
)
def test_a_text_lock_of_another_image_is_refused(
    example_lock: ExampleLock, text: Environment, old: str, new: str
) -> None:
    content = json.loads(example_lock(text).canonical_bytes())
    good = content["image"]["uri"]
    content["image"]["uri"] = good.replace(old, new)
    assert content["image"]["uri"] != good
    with pytest.raises(ProblemsError) as caught:
        check_lock(Lock.model_validate(content), text, source="x")
    (problem,) = caught.value.problems
    assert problem.startswith(
        f"image.uri is {content['image']['uri']!r}, adapter_image/dlc.toml pins {good!r}"
    )
    assert problem.endswith("run `semif build text`")


def test_a_lock_of_the_other_kind_is_refused(example_lock: ExampleLock, text: Environment) -> None:
    dev = load_environment("dev").model_copy(update={"name": "text"})

    with pytest.raises(ProblemsError, match="kind is 'decision', the environment text says 'text'"):
        check_lock(example_lock(dev), text, source="x")


def test_a_lock_that_fits(example_lock: ExampleLock, demo: Environment, manifest: ModelManifest) -> None:
    check_lock(example_lock(demo), demo, source="x")
    placed = demo.model_copy(update={"account": "111122223333", "region": "eu-central-1"})
    check_lock(example_lock(demo), placed, source="x")


def test_everything_that_does_not_fit_is_said_at_once(content: dict[str, Any]) -> None:
    content["region"] = "us-east-1"
    content["model"]["s3_uri"] = "s3://bucket/models/latest/model.tar.gz"
    other = load_environment("dev").model_copy(update={"account": "444455556666", "region": "eu-west-1"})
    with pytest.raises(ProblemsError) as caught:
        check_lock(Lock.model_validate(content), other, source="x.json")
    said = [problem.split()[0] for problem in caught.value.problems]
    assert said == [
        *("environment", "account", "region"),
        *("model.preset", "model.manifest_sha256", "model.s3_uri", "image.uri"),
    ]
    assert "run `semif build dev`" in str(caught.value)


def test_a_model_that_is_not_the_pinned_one(
    content: dict[str, Any], demo: Environment, manifest: ModelManifest
) -> None:
    content["model"]["manifest_sha256"] = HASH
    content["model"]["s3_uri"] = f"s3://bucket/models/{HASH}/model.tar.gz"
    with pytest.raises(ProblemsError) as caught:
        check_lock(Lock.model_validate(content), demo, source="x")
    assert HASH in str(caught.value)
    assert manifest.sha256 in str(caught.value)
    assert "this is not the pinned model" in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('"schema": 1', '"schema": NaN', "schema = nan: must be 1"),
        ('"schema": 1', '"schema": 1, "schema": 1', "the key 'schema' stands twice"),
        ('"schema": 1', f'"{"k" * 9000}": 1, "{"k" * 9000}": 1', "… (9002 characters) stands twice"),
        ('"schema": 1', '"schema": ' + "9" * 5000, "5000 digits"),
        ('"schema": 1', '"\\u001b[2J": 1', r"'\x1b[2J' is not a known key"),
        ('"demo"', '"demo\\u001b[2J\\u202e"', r"environment: 'demo\x1b[2J\u202e' must be"),
        ('"demo"', '"../demo"', "environment: '../demo' must be"),
        ("@sha256:", "@sha256:ab", "has a digest of 66 digits"),
        ("@sha256:", "@sha256:\\u0660", "@sha256"),
        ('"kind": "decision"', '"kind": "\\ud800"', r"kind = '\ud800': must be"),
        ("{", '{"a":' * 10_000, "is not a lock: it is nested too deeply"),
        ("{", "[" * 60_000, "is not a lock: it is nested too deeply"),
        ("{", "{" + " " * 70_000, "is longer than 65,536 bytes"),
        ("{", "{" + "".join(f'"k{number}": 1, ' for number in range(4_500)), "and 4400 more"),
    ],
    ids=lambda value: value[:12].strip(" {") if isinstance(value, str) else None,
)
def test_a_hostile_lock_is_told_in_a_page(
    tmp_path: Path, content: dict[str, Any], old: str, new: str, told: str
) -> None:
    path = tmp_path / "demo.lock.json"
    path.write_text(json.dumps(content, indent=1).replace(old, new, 1))
    with pytest.raises(SemifError) as caught:
        read_lock(path)
    message = str(caught.value)
    assert told in message
    assert len(message) < 20_000
    assert message.replace("\n", "").isprintable()


def test_a_lock_of_another_bucket_or_account_than_what_is_there_already(
    example_lock: ExampleLock, environment_of: Callable[..., Environment]
) -> None:
    given = environment_of(
        'kind = "decision"\nremoval = "destroy"\n[model]\npreset = "embedded"\n'
        '[endpoint]\ninstance_type = "ml.c6i.large"\n'
        '[existing]\nbucket = "our-models"\nrole_arn = "arn:aws:iam::111122223333:role/hosting"\n'
    )
    lock = example_lock(given)
    check_lock(lock, given, source="a lock")
    place = lock.model.address.replace("our-models", "former-models")
    moved = lock.model_copy(
        update={"account": "444455556666", "model": lock.model.model_copy(update={"s3_uri": place})}
    )
    with pytest.raises(ProblemsError) as caught:
        check_lock(moved, given, source="a lock")
    bucket, role = [line for line in caught.value.problems if "registry" not in line and "image" not in line]
    assert bucket.startswith("model.s3_uri is in the bucket former-models, the environment test says our-m")
    assert role.startswith("existing.role_arn is of account 111122223333, the lock of 444455556666")
