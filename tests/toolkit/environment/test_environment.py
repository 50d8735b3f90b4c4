"""Environment files: what is shipped, what is refused, and that everything wrong is said at once."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from semif.environment.environment import Environment, environment_names, load_environment, read_environment
from semif.errors import ProblemsError, SemifError
from semif.images.base_images import base_image
from semif.sagemaker.placement import CUDA_AMI_VERSIONS

GOOD = """
kind = "decision"
removal = "destroy"
[model]
preset = "embedded"
[endpoint]
{endpoint}
startup_timeout_seconds = 600
model_download_timeout_seconds = 600
[adapter]
{adapter}
"""
AMI = f'inference_ami_version = "{CUDA_AMI_VERSIONS[0]}"'
ONE = 'instance_type = "ml.c6i.large"'
ASYNC = f'{ONE}\nmode = "async"'
GPU_POOL = f'instance_pool = ["ml.g6.xlarge", "ml.g5.xlarge"]\n{AMI}'

EnvironmentOf = Callable[..., Environment]


def test_the_shipped_environments() -> None:
    assert {"demo", "dev", "prod"} <= set(environment_names())
    dev, prod, demo = map(load_environment, ("dev", "prod", "demo"))
    assert (dev.accelerator, prod.accelerator, demo.accelerator) == ("cpu", "cuda", "cpu")
    assert (dev.model.preset, prod.model.preset, demo.model.preset) == (
        "qwen3.5-4b",
        "qwen3.5-4b",
        "embedded",
    )
    assert (dev.removal, prod.removal, demo.removal) == ("destroy", "retain", "destroy")
    assert prod.endpoint.instance_types == ("ml.g6.xlarge", "ml.g6e.xlarge", "ml.g5.xlarge")


def test_the_longest_start_is_the_sum_of_its_parts(environment_of: EnvironmentOf) -> None:
    for place, longest in (
        (ONE, 1860 + 1200),
        (GPU_POOL, 3600 + 1200),
        (f"{GPU_POOL}\nprovision_timeout_seconds = 400", 400 + 1200),
    ):
        environment = environment_of(GOOD.format(endpoint=place, adapter=""))
        assert (environment.start_seconds, environment.longest_start_seconds) == (600, longest)


def test_a_gpu_gets_all_layers_and_a_cpu_none(environment_of: EnvironmentOf) -> None:
    gpu = environment_of(GOOD.format(endpoint=GPU_POOL, adapter=""))
    some = environment_of(GOOD.format(endpoint=GPU_POOL, adapter="gpu_layers = 20"))
    cpu = environment_of(GOOD.format(endpoint=ONE, adapter=""))
    assert (gpu.settings.gpu_layers, some.settings.gpu_layers, cpu.settings.gpu_layers) == (-1, 20, 0)


@pytest.mark.parametrize(
    ("endpoint", "adapter", "problem"),
    [
        ("", "", "exactly one of instance_type and instance_pool is needed, got neither"),
        (f'{ONE}\ninstance_pool = ["ml.c5.large"]', "", "is needed, got both"),
        ("instance_pool = []", "", "instance_pool holds 0 types, allowed are 1 to 5"),
        (
            f"instance_pool = {[f'ml.c6i.{n}xlarge' for n in (1, 2, 4, 8, 12, 16)]}",
            "",
            "instance_pool holds 6 types",
        ),
        ('instance_pool = ["ml.c6i.large", "ml.c6i.large"]', "", "name each type once"),
        (
            'instance_pool = ["ml.c6i.large", "ml.c7g.large"]',
            "",
            "mix accelerators: ml.c6i.large (cpu), ml.c7g",
        ),
        ('instance_type = "c6i.large"', "", "'c6i.large' is not an instance type, write ml.FAMILY.SIZE"),
        (
            'instance_type = "ml.c6x.large"',
            "",
            "'ml.c6x.large' is of no known instance family, known are c4, c5",
        ),
        ('instance_type = "ml.p3.2xlarge"', "", "CUDA 13 no longer supports"),
        ('instance_type = "ml.inf2.xlarge"', "", "llama.cpp does not run on Inferentia"),
        ("instance_type = 3", "", "endpoint.instance_type = 3: must be text in quotes"),
        (f"{ONE}\nprovision_timeout_seconds = 600", "", "goes with instance_pool only"),
        (
            'instance_pool = ["ml.c6i.large"]\nprovision_timeout_seconds = 299',
            "",
            "299: allowed are 300 to 3600",
        ),
        (
            'instance_pool = ["ml.c6i.large"]\nprovision_timeout_seconds = 3601',
            "",
            "3601: allowed are 300 to",
        ),
        (
            'instance_type = "ml.g5.xlarge"',
            "",
            "inference_ami_version is missing: a driver for CUDA 13 is needed",
        ),
        (
            'instance_type = "ml.g5.xlarge"\ninference_ami_version = "al2-ami-sagemaker-inference-gpu-3-1"',
            "",
            f"use {CUDA_AMI_VERSIONS[0]}",
        ),
        (f"{ONE}\n{AMI}", "", "only GPU instances take one"),
        (f"{ONE}\ninitial_instance_count = 0", "", "a variant starts with at least 1"),
        ('instance_type = "ml.c6i.3xlarge"', "", "is not known, of family c6i there are ml.c6i.large, "),
        (f"{ONE}\nvolume_size_gb = 0", "", "endpoint.volume_size_gb = 0: must be greater than or equal to 1"),
        (f"{ONE}\nvolume_size_gb = 513", "", "endpoint.volume_size_gb = 513: must be less than or"),
        (f"{ONE}\nvolume_size = 30", "", "volume_size is not a known key, did you mean volume_size_gb?"),
        (ONE, "streams = 1", "adapter.streams = 1: must be greater than or equal to 2"),
        (ONE, "port = 80", "adapter.port is not a known key: the deployment fixes it"),
        (ONE, 'api_key = "k"', "adapter.api_key is not a known key: IAM guards the endpoint"),
        (ONE, "treads = 2", "adapter.treads is not a known key, did you mean threads?"),
        (
            f'{ONE}\nmode = "joined"',
            "",
            " 'joined': must be 'realtime', 'async' or 'batch'; 'joined' is a value of adapter.mode",
        ),
        (ONE, 'mode = "async"', "'batched'; 'async' is a value of endpoint.mode, write it there"),
        (f'{ONE}\nmode = "jointed"', "", "must be 'realtime', 'async' or 'batch'"),
        (ONE, "gpu_layers = 4", "adapter.gpu_layers = 4: ml.c6i.large has no GPU"),
        (ONE, 'template = "direct-options-v1"', "lists options behind letters, which are not read"),
        (ONE, '[registry]\ngroup = "-a"', "registry.group: '-a' must be 1 to 63 letters"),
        (ONE, "deadline_seconds = 60", "adapter.deadline_seconds = 60: SageMaker ends a request after 60 s"),
        (ONE, "drain_seconds = 30", "adapter.drain_seconds = 30: SageMaker kills a container 30 s after"),
        (GPU_POOL, "gpu_layers = 0", "ml.g6.xlarge has a GPU that would idle"),
        (ONE, "[scaling]", "scaling.max_instance_count is missing"),
        (
            ONE,
            "[scaling]\nmin_instance_count = 0\nmax_instance_count = 2",
            "scaling: min_instance_count = 0: a realtime variant keeps at least 1; scaling to zero needs",
        ),
        (
            ONE,
            "[scaling]\nmin_instance_count = 2\nmax_instance_count = 3",
            "scaling: initial_instance_count = 1: allowed are 2 to 3",
        ),
        (
            ONE,
            "max_in_flight = 3\n[scaling]\nmax_instance_count = 2",
            "scaling.concurrent_requests_per_instance = 4.0: the adapter takes 3 at once",
        ),
        (ONE, '[deployment]\nstrategy = "all-at-once"', "there is no [alarms]; add the table"),
        (
            ONE,
            '[alarms]\n[deployment]\nstrategy = "canary"',
            "so it needs at least 2, and the variant may have 1",
        ),
        (
            f"{ONE}\ninitial_instance_count = 2",
            '[alarms]\n[deployment]\nstrategy = "blue"',
            "deployment.strategy = 'blue'",
        ),
        (
            ONE,
            '[alarms]\n[deployment]\nstrategy = "all-at-once"\nwait_seconds = 60',
            "deployment: wait_seconds = 60: allowed are 300",
        ),
        (
            f"{GPU_POOL}\ninitial_instance_count = 10",
            '[alarms]\n[deployment]\nstrategy = "rolling"',
            "10 waits of 600 s and 10 starts of up to",  # a pool that says no time may take an hour
        ),
        (
            ONE,
            "[scaling]\nmax_instance_count = 2\nbacklog_per_instance = 9",
            "is for asynchronous endpoints only",
        ),
        (
            ONE,
            "[alarms]\nbacklog_age_seconds = 60",
            "alarms.backlog_age_seconds is for asynchronous endpoints",
        ),
        (ONE, "[async]", "[async] is for asynchronous endpoints; write mode = 'async' in [endpoint]"),
        (f'{ONE}\nmode = "queue"', "", "endpoint.mode = 'queue': must be 'realtime', 'async' or 'batch'"),
        (ASYNC, "deadline_seconds = 60", "adapter.deadline_seconds follows from async.invocation_timeout"),
        (ASYNC, "[async]\ninvocation_timeout_seconds = 3601", "must be less than or equal to 3600"),
        (
            ASYNC,
            "max_in_flight = 8\n[async]\nconcurrent_invocations_per_instance = 9",
            "async.concurrent_invocations_per_instance = 9: the adapter takes 8 at once",
        ),
        (
            ASYNC,
            "[scaling]\nmin_instance_count = -1\nmax_instance_count = 2",
            "scaling.min_instance_count = -1",
        ),
        (
            ASYNC,
            "[scaling]\nmax_instance_count = 2\nconcurrent_requests_per_instance = 9",
            "is for realtime endpoints only",
        ),
        (ONE, 'metrics = "off"\n[alarms]', "alarms: adapter.metrics = 'off' leaves them without"),
        (ONE, '[alarms]\ntopic_arn = "mail"', "alarms.topic_arn: 'mail' must be the ARN of an SNS topic"),
        (ONE, "[alarms]\nerror_percent = 0", "alarms.error_percent = 0: must be greater than 0"),
    ],
)
def test_what_is_refused(environment_of: EnvironmentOf, endpoint: str, adapter: str, problem: str) -> None:
    with pytest.raises(ProblemsError) as caught:
        environment_of(GOOD.format(endpoint=endpoint, adapter=adapter))
    assert problem in str(caught.value)


@pytest.mark.parametrize(("target", "count"), [("", 1), ("\nbacklog_per_instance = 3", 0)])
def test_a_target_that_nobody_chose_for_unlike_types_is_warned_of(
    environment_of: EnvironmentOf, target: str, count: int
) -> None:
    pool = ASYNC.replace(
        'instance_type = "ml.c6i.large"', 'instance_pool = ["ml.c6i.large", "ml.c6i.xlarge"]'
    )
    assert pool != ASYNC
    rest = f"[scaling]\nmax_instance_count = 2{target}"
    found = environment_of(GOOD.format(endpoint=pool, adapter=rest)).warnings
    assert [told.partition(":")[0] for told in found] == ["scaling.backlog_per_instance = 16"] * count


@pytest.mark.parametrize(
    ("rest", "warnings"),
    [
        ("[alarms]", []),
        ("[alarms]\nbacklog_age_seconds = 300", ["a request may work for 900 s"]),
        (
            "[scaling]\nmin_instance_count = 0\nmax_instance_count = 2\n[alarms]\nbacklog_age_seconds = 300",
            ["a request may work for 900 s", "waits for an instance, whose start usually takes"],
        ),
        ("[async]\ninvocation_timeout_seconds = 3600", []),
    ],
)
def test_an_alarm_that_goes_off_while_all_is_well_is_warned_of(
    environment_of: EnvironmentOf, rest: str, warnings: list[str]
) -> None:
    found = environment_of(GOOD.format(endpoint=ASYNC, adapter=rest)).warnings
    assert len(found) == len(warnings)
    assert all(wanted in told for wanted, told in zip(warnings, found, strict=True))


def test_an_unknown_mode_is_one_problem(environment_of: EnvironmentOf) -> None:
    rest = "[async]\n[scaling]\nmin_instance_count = 0\nmax_instance_count = 2\nbacklog_per_instance = 9"
    with pytest.raises(ProblemsError) as caught:
        environment_of(GOOD.format(endpoint=f'{ONE}\nmode = "Async"', adapter=rest))
    assert caught.value.problems == ("endpoint.mode = 'Async': must be 'realtime', 'async' or 'batch'",)


def test_an_empty_endpoint_has_no_place(environment_of: EnvironmentOf) -> None:
    with pytest.raises(ProblemsError, match="exactly one of instance_type and instance_pool is needed"):
        environment_of('kind = "decision"\nremoval = "destroy"\n[model]\npreset = "embedded"\n[endpoint]')


def test_each_kind_has_its_own_table(environment_of: EnvironmentOf) -> None:
    wrong = GOOD.format(endpoint="", adapter="streams = 1").replace('"decision"', '"text"')
    with pytest.raises(ProblemsError) as caught:
        environment_of(wrong + "[text]\nPORT = 1\nSM_LLAMA_CPP_JINJA = false")
    assert [problem.split()[0] for problem in caught.value.problems] == [
        *("adapter.streams", "[adapter]", "text:", "text.SM_LLAMA_CPP_JINJA:", "endpoint:"),
    ]
    with pytest.raises(ProblemsError, match=r"\[text\] does not go with kind = 'decision'"):
        environment_of(GOOD.format(endpoint=ONE, adapter="") + "[text]\n")


@pytest.mark.parametrize("key", ["startup_timeout_seconds", "model_download_timeout_seconds"])
@pytest.mark.parametrize("seconds", [59, 3601])
def test_timeouts_are_sagemakers(environment_of: EnvironmentOf, key: str, seconds: int) -> None:
    text = GOOD.format(endpoint=ONE, adapter="").replace(f"{key} = 600", f"{key} = {seconds}")
    with pytest.raises(ProblemsError, match=rf"endpoint\.{key} = {seconds}: must be (less|greater) than"):
        environment_of(text)


def test_all_problems_of_a_file_are_said_at_once(environment_of: EnvironmentOf) -> None:
    text = """
        kind = "poem"
        account = "1111-2222"
        region = "Frankfurt"
        colour = "red"
        [model]
        preset = "nothing"
        [endpoint]
        instance_type = "ml.c6i.large"
        instance_pool = ["ml.g6.xlarge"]
        initial_instance_count = 0
        startup_timeout_seconds = 5
        model_download_timeout_seconds = 3601
        [adapter]
        streams = 1
        host = "here"
    """
    with pytest.raises(ProblemsError) as caught:
        environment_of(text, name="Not_A_Name")
    said = [
        *("name:", "kind =", "account:", "region:", "removal is missing"),
        "model.preset: there is no preset 'nothing', known are embedded",
        *("endpoint.initial_instance_count:", "endpoint.startup_timeout_seconds ="),
        *("endpoint.model_download_timeout_seconds =", "adapter.streams ="),
        *("colour is not a known key", "adapter.host is not a known key"),
        *("endpoint: exactly one of", "endpoint: the instance types mix"),
    ]
    assert len(caught.value.problems) == len(said)
    first, *lines = str(caught.value).splitlines()
    assert first.endswith(f"Not_A_Name.toml has {len(said)} problems:")
    assert lines == [f"  {problem}" for problem in caught.value.problems]
    for beginning in said:
        assert any(problem.startswith(beginning) for problem in caught.value.problems), beginning


def test_another_container_has_no_refusals(environment_of: EnvironmentOf) -> None:
    text = GOOD.format(endpoint='instance_type = "ml.c6i.4xlarge"', adapter="").replace("[adapter]", "")
    with pytest.raises(ProblemsError, match=r"alarms\.refusal_percent is for decision endpoints only"):
        environment_of(text.replace('"decision"', '"text"') + "[alarms]\nrefusal_percent = 2")


@pytest.mark.parametrize(
    ("table", "key"), [("alarms", "topic_arn"), ("async", "success_topic_arn"), ("async", "error_topic_arn")]
)
def test_a_topic_of_another_region_is_refused(environment_of: EnvironmentOf, table: str, key: str) -> None:
    text = 'region = "eu-west-1"\n' + GOOD.format(
        endpoint=ASYNC, adapter=f'[{table}]\n{key} = "arn:aws:sns:eu-central-1:111122223333:somebody"'
    )
    with pytest.raises(ProblemsError, match=rf"{table}\.{key}: .* is not in eu-west-1"):
        environment_of(text)


def test_an_asynchronous_adapter_has_time_and_room(environment_of: EnvironmentOf) -> None:
    adapter = "streams = 6\nmax_in_flight = 5\ncontext_tokens = 2048"
    settings = environment_of(GOOD.format(endpoint=ASYNC, adapter=adapter)).settings
    assert (settings.deadline_seconds, settings.max_queued_tokens) == (895, 5 * 64 * 2048)
    given = "max_queued_tokens = 9000\n[async]\ninvocation_timeout_seconds = 3600"
    environment = environment_of(GOOD.format(endpoint=ASYNC, adapter=given))
    assert (environment.settings.deadline_seconds, environment.settings.max_queued_tokens) == (3595, 9000)
    assert environment.concurrent_invocations == 4
    one = environment_of(
        GOOD.format(endpoint=ASYNC, adapter="[async]\nconcurrent_invocations_per_instance = 1")
    )
    assert one.concurrent_invocations == 1
    assert one.container_variables["SEMIF_DEADLINE_SECONDS"] == "895.0"
    realtime = environment_of(GOOD.format(endpoint=ONE, adapter=""))
    assert "SEMIF_DEADLINE_SECONDS" not in realtime.container_variables


def test_cooldowns_fit_the_start(environment_of: EnvironmentOf) -> None:
    scaled = environment_of(GOOD.format(endpoint=ONE, adapter="[scaling]\nmax_instance_count = 2"))
    assert (scaled.scale_out_cooldown_seconds, scaled.scale_in_cooldown_seconds) == (600, 1200)
    given = "[scaling]\nmax_instance_count = 2\nscale_out_cooldown_seconds = 0\nscale_in_cooldown_seconds = 5"
    chosen = environment_of(GOOD.format(endpoint=ONE, adapter=given))
    assert (chosen.scale_out_cooldown_seconds, chosen.scale_in_cooldown_seconds) == (0, 5)


def test_one_round_tells_of_keys_across_keys_and_of_the_whole(environment_of: EnvironmentOf) -> None:
    wrong = (
        'name = "x"\nregion = "eu-central-1"\n'
        + GOOD.format(endpoint='instance_type = "ml.c6i.large"', adapter="max_queued_tokens = 9000")
        + "[alarms]\nlatency_p95 = 5\n"
        + '[encryption]\nkms_key_arn = "arn:aws:kms:us-east-1:111122223333:key/'
        '11111111-2222-3333-4444-555555555555"\n'
    ).replace("embedded", "qwen3.5-4b")
    with pytest.raises(ProblemsError) as refused:
        environment_of(wrong)
    told = "\n".join(refused.value.problems)
    for part in (
        "name must not be set in the file",
        "alarms.latency_p95 is not a known key",
        "is not in eu-central-1, a key serves its own region only",
        "ml.c6i.large has 4.0 GiB of memory",
    ):
        assert part in told
    misspelt = wrong.replace("[adapter]", "[adaptor]")
    with pytest.raises(ProblemsError) as refused:
        environment_of(misspelt)
    assert "of memory" not in str(refused.value), "what it needs may stand there"


def test_a_file_cannot_name_itself(environment_of: EnvironmentOf) -> None:
    with pytest.raises(SemifError, match="name must not be set in the file"):
        environment_of('name = "x"\n' + GOOD.format(endpoint=ONE, adapter=""))


def test_an_unknown_environment_says_which_are_known() -> None:
    with pytest.raises(SemifError) as caught:
        load_environment("nowhere")
    assert (
        str(caught.value) == f"there is no environment 'nowhere', known are {', '.join(environment_names())}"
    )


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.just("ml.g6.xlarge"),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=10,
)
_KEYS = st.sampled_from([*Environment.model_fields, "colour"])
_ENDPOINT_KEYS = st.sampled_from(["instance_type", "instance_pool", "provision_timeout_seconds", "x"])


@settings(deadline=None)  # no timing is asserted, however busy the machine
@given(
    tables=st.dictionaries(_KEYS, _VALUES, max_size=8),
    endpoint=st.dictionaries(_ENDPOINT_KEYS, _VALUES),
    layers=_VALUES,
)
def test_any_values_are_read_or_refused_but_never_crash(
    tables: dict[str, object], endpoint: dict[str, object], layers: object
) -> None:
    with pytest.raises(ValidationError):  # what destroy leaves is never said
        Environment.model_validate(
            {**tables, "endpoint": endpoint, "adapter": {"gpu_layers": layers}, "removal": None}
        )


@settings(deadline=None)
@given(content=st.binary(max_size=200))
def test_any_bytes_are_refused_in_words(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "bytes.toml"
    Path(path).write_bytes(content)
    with pytest.raises(SemifError):
        read_environment(path)


def test_a_base_for_another_cuda_than_the_hosts_is_refused(root: Path, tmp_path: Path) -> None:
    text = (root / "adapter_image" / "dlc.toml").read_text()
    path = tmp_path / "dlc.toml"
    path.write_text(text.replace("cuda_major = 13", "cuda_major = 14"))
    with pytest.raises(
        SemifError, match=r"cuda\.cuda_major = 14, the known host images have drivers for CUDA 13"
    ):
        base_image("cuda", path)
    assert base_image("cpu", path) != base_image("cuda")


def test_a_base_without_a_digest_is_refused(root: Path, tmp_path: Path) -> None:
    lines = (root / "adapter_image" / "dlc.toml").read_text().splitlines(keepends=True)
    path = tmp_path / "dlc.toml"
    path.write_text("".join(line for line in lines if not line.startswith("digest =")))
    with pytest.raises(SemifError, match="pins no digest for cpu"):
        base_image("cpu", path)
