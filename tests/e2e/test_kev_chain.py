"""A model with a decision head through the real command line: packed, hosted, and asked on every wire.

The weights are random and tiny, so that the environment is of this test alone: no file of them is shipped.
No image is built: tests/image looks at that.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from semif.target import local_server
from tests.support.checkout import build_little, copy_project, semif
from tests.support.models.small_models import pin_of

SYSTEM_ONE = {
    "model": "jev-latest",
    "state": {"message": "My card was charged twice."},
    "questions": {
        "team": {
            "type": "choice",
            "instructions": "Which team?",
            "criteria": {"billing": "money", "tech": None},
        },
        "refund": {"type": "noul", "instructions": "Does the customer want money back?"},
    },
}
OPENAI = {
    "input": [{"role": "user", "content": [{"type": "input_json", "data": SYSTEM_ONE["state"]}]}],
    "questions": [
        {
            "type": "choice",
            "instructions": "Which team?",
            "choices": [{"value": "billing", "description": "money"}, {"value": "tech"}],
        },
        {"type": "predicate", "instructions": "Does the customer want money back?"},
    ],
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, kev_gguf: Path) -> Iterator[Path]:
    """A copy of the project with the preset `tiny-kev` and an environment of it."""
    project = copy_project(tmp_path_factory.mktemp("kev-chain"))
    pin = pin_of(kev_gguf)
    (project / "models" / "tiny-kev.toml").write_text(
        f"""
description = "random weights with Kev's head"
license = "none needed"
quantization = "F32"
[model]
source = "file:{kev_gguf}"
file = "{kev_gguf.name}"
bytes = {pin.bytes}
sha256 = "{pin.sha256}"
[prompt]
readout = "head"
head = "kev"
"""
    )
    demo = (project / "environments" / "demo.toml").read_text()
    (project / "environments" / "demo-kev.toml").write_text(demo.replace('"embedded"', '"tiny-kev"'))
    with pytest.MonkeyPatch.context() as patch:
        build_little(project, patch)
        try:
            yield project
        finally:
            local_server.stop_server(project)


def test_it_is_deployed_and_asked_on_every_wire(project: Path) -> None:
    """The container of this machine is not AWS's: it runs the wheel's library, which knows the head."""
    deployed = semif(project, "deploy", "demo-kev", "--local")
    assert deployed.returncode == 0, deployed.stderr

    one = json.loads(asked(project, SYSTEM_ONE))["answers"]
    [choice, predicate] = json.loads(asked(project, OPENAI))["answers"]
    options = [{"id": "billing", "description": "money"}, {"id": "tech"}]
    decision = {"id": "d", "state": SYSTEM_ONE["state"], "question": "Which team?", "options": options}
    result = json.loads(asked(project, {"decision": decision}))["result"]

    assert (result["readout"], result["prompt_version"]) == ("head", "kev-head-state-first-2")
    billing = one["team"]["probabilities"]["billing"]
    assert billing == choice["probabilities"][0]["probability"] == result["probabilities"][0]
    assert one["refund"]["noul"] == predicate["probability"]


def asked(project: Path, document: object) -> str:
    """What `semif decide` prints for `document`."""
    decided = semif(project, "decide", "demo-kev", "-", "--local", "--json", text=json.dumps(document))
    assert decided.returncode == 0, decided.stderr
    return decided.stdout
