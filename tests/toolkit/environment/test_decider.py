"""Environments of kind `decider`: what they may say, and what their container is told."""

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from semif.cli import main
from semif.environment.asking import asking_command
from semif.environment.environment import Environment
from semif.environment.explained import resolved
from semif.errors import ProblemsError, SemifError
from semif.project.root import PROJECT_VARIABLE
from tests.support.models.checkpoints import BASE_COMMIT, COMMIT, DIGEST, ENVIRONMENT, decider_project

EnvironmentOf = Callable[..., Environment]


@pytest.fixture
def project(tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = decider_project(tmp_path / "project", root)
    monkeypatch.setenv(PROJECT_VARIABLE, str(folder))
    return folder


def test_the_container_is_told_where_its_files_are_and_to_refuse_what_is_too_long(
    project: Path, environment_of: EnvironmentOf
) -> None:
    environment = environment_of(ENVIRONMENT)
    assert environment.container_variables == {
        "DECIDER_ARGS": "--strict-window",
        "DECIDER_CHECKPOINT": "/opt/ml/model/Tiny_Decider",
        "DECIDER_DEVICE": "cuda",
        "DECIDER_MAX_CONCURRENCY": "1",
        "DECIDER_WARMUP": "1",
        "HF_HUB_CACHE": "/opt/ml/model/hf-cache",
        "HF_HUB_OFFLINE": "1",
    }
    loose = """[decider]
strict_window = false
warmup = false
device_map = "auto"
max_batch = 8
max_batch_tokens = 65536
prefix_cache = false
"""
    told = environment_of(ENVIRONMENT + loose).container_variables
    assert told["DECIDER_ARGS"] == "--no-prefix-cache --max-batch 8 --max-batch-tokens 65536"
    assert (told["DECIDER_WARMUP"], told["DECIDER_DEVICE_MAP"]) == ("0", "auto")
    assert str(environment.base_image).endswith(f"/strands-decider@{DIGEST}")
    assert environment.concurrent_invocations == 1
    assert asking_command(environment, "one") == "semif decide one examples/systemone.json"
    shown = {setting["key"] for setting in resolved(environment)["settings"]}
    assert "decider.strict_window" in shown
    assert not {key for key in shown if key.startswith(("adapter.", "text."))}


def test_what_a_file_comes_to_is_shown(project: Path) -> None:
    (project / "environments").mkdir()
    (project / "environments" / "judge.toml").write_text(ENVIRONMENT)
    result = CliRunner().invoke(main, ["env", "show", "judge"])
    assert result.exit_code == 0, result.output
    assert f"hf://owner/Tiny_Decider {COMMIT}, 9 files, with those of hf://base/Tiny-Base {BASE_COMMIT}" in (
        result.stdout
    )
    asked = project / "decision.json"
    asked.write_text('{"decision": {"id": "d"}}')
    refused = CliRunner().invoke(main, ["decide", "judge", str(asked)])
    assert "is no System One request" in refused.output
    worded = CliRunner().invoke(main, ["ask", "judge", "Hello"])
    assert "it answers System One requests; use `semif decide judge FILE`" in worded.output


def test_all_problems_of_a_file_are_told_at_once(project: Path, environment_of: EnvironmentOf) -> None:
    text = ENVIRONMENT.replace('format = "prefix"\n', "").replace("g6.xlarge", "c6i.xlarge")
    text = text.replace('inference_ami_version = "al2023-ami-sagemaker-inference-gpu-4-1"\n', "")
    with pytest.raises(ProblemsError) as caught:
        environment_of(
            text
            + "[decider]\nmax_batch = 0\n[text]\nSM_LLAMA_CPP_SEED = 1\n[alarms]\nrefusal_percent = 1.0\n"
        )
    told = "\n".join(caught.value.problems)
    for problem in (
        "decider.max_batch",
        "[text] does not go with kind = 'decider': the container for Strands Decider is set with [decider]",
        "alarms.refusal_percent is for decision endpoints only",
        "model.format must be 'prefix' with kind = 'decider'",
        "ml.c6i.xlarge has no GPU",
    ):
        assert problem in told
    with pytest.raises(ProblemsError, match=r"\[decider\] does not go with kind = 'decision'"):
        environment_of(
            'kind = "decision"\nremoval = "destroy"\n[model]\npreset = "embedded"\n[endpoint]\n'
            'instance_type = "ml.c6i.xlarge"\n[decider]\n'
        )
    batch = ENVIRONMENT.replace("[endpoint]", '[endpoint]\nmode = "batch"')
    with pytest.raises(ProblemsError, match="mode = 'batch' does not go with kind = 'decider'"):
        environment_of(batch)


def test_a_model_of_another_sort_or_none_says_how_one_is_pinned(
    project: Path, environment_of: EnvironmentOf
) -> None:
    with pytest.raises(
        ProblemsError,
        match=r"no preset 'embedded' that kind 'decider' serves, known are tiny-decider; pin one with `semif "
        r"model pin-checkpoint",
    ):
        environment_of(ENVIRONMENT.replace("tiny-decider", "embedded"))
    with pytest.raises(ProblemsError, match="no preset 'tiny-decider' that kind 'decision' serves"):
        environment_of(ENVIRONMENT.replace("decider", "decision", 1))


def test_without_a_pinned_container_it_says_what_to_run(
    root: Path, tmp_path: Path, project: Path, environment_of: EnvironmentOf
) -> None:
    pins = (root / "adapter_image" / "dlc.toml").read_text()
    (project / "adapter_image" / "dlc.toml").write_text(pins)
    with pytest.raises(SemifError, match="pins no digest for decider; run `semif image pin decider`"):
        _ = environment_of(ENVIRONMENT).base_image


def test_a_model_that_is_larger_than_the_gpu_is_told(project: Path, environment_of: EnvironmentOf) -> None:
    path = project / "models" / "checkpoints" / "tiny-decider.toml"
    path.write_text(path.read_text().replace("bytes = 700\n", "bytes = 51_000_000_000\n"))
    with pytest.raises(ProblemsError, match="GPU memory"):
        environment_of(ENVIRONMENT)
