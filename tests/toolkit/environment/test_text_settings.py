"""`[text]`: what an environment may tell llama-server, what is refused, and what is set in any case."""

from collections.abc import Callable
from pathlib import Path

import pytest
from xllamacpp import xllamacpp as extension

from local_aws.sagemaker.hosts.llama_cpp_container import server_flags
from local_aws.sagemaker.hosts.llama_server import FlagsError, parse_flags
from semif.environment.environment import Environment, environment_names, load_environment
from semif.errors import ProblemsError
from semif.sagemaker.llama_server_flags import BARE_FLAGS, VALUE_FLAGS
from semif.sagemaker.llama_server_variables import DEFAULTS, variable_of
from semif.sagemaker.placement import CUDA_AMI_VERSIONS

EnvironmentOf = Callable[..., Environment]
CPU = 'instance_type = "ml.c6i.4xlarge"'
GPU = f'instance_pool = ["ml.g6.xlarge", "ml.g5.xlarge"]\ninference_ami_version = "{CUDA_AMI_VERSIONS[0]}"'
FILE = """
kind = "text"
removal = "destroy"
[model]
preset = "embedded"
[endpoint]
{endpoint}
[text]
{text}
"""


def test_the_container_reads_what_the_file_says(environment_of: EnvironmentOf) -> None:
    lines = "SM_LLAMA_CPP_CTX_SIZE = 4096\nSM_LLAMA_CPP_TEMP = 0.5\nSM_LLAMA_CPP_JINJA = true"
    text = environment_of(FILE.format(endpoint=CPU, text=f'{lines}\nSM_LLAMA_CPP_ALIAS = "a=b c"'))
    assert text.container_variables == {
        "SM_LLAMA_CPP_CTX_SIZE": "4096",
        "SM_LLAMA_CPP_PARALLEL": "2",
        "SM_LLAMA_CPP_CACHE_RAM": "1024",
        "SM_LLAMA_CPP_TEMP": "0.5",
        "SM_LLAMA_CPP_JINJA": "true",
        "SM_LLAMA_CPP_ALIAS": "a=b c",
    }


def test_memory_is_bounded_and_layers_go_to_a_gpu_unless_the_file_says_otherwise(
    environment_of: EnvironmentOf,
) -> None:
    def variables(endpoint: str, text: str) -> dict[str, str]:
        return environment_of(FILE.format(endpoint=endpoint, text=text)).container_variables

    assert variables(CPU, "") == DEFAULTS
    assert variables(GPU, "") == {**DEFAULTS, "SM_LLAMA_CPP_N_GPU_LAYERS": "999"}
    assert variables(GPU, "SM_LLAMA_CPP_N_GPU_LAYERS = 20")["SM_LLAMA_CPP_N_GPU_LAYERS"] == "20"


def test_saved_prompts_and_context_count_against_the_memory(environment_of: EnvironmentOf) -> None:
    small = 'instance_type = "ml.c6i.large"'
    need = environment_of(FILE.format(endpoint=CPU, text="SM_LLAMA_CPP_CTX_SIZE = 4096")).memory_need
    assert (need.context_tokens, need.saved_prompts) == (4096, 1 << 30)
    with pytest.raises(
        ProblemsError, match=r"ml\.c6i\.large has 4\.0 GiB of memory, .* saved prompts 8\.0 GiB"
    ):
        environment_of(FILE.format(endpoint=small, text="SM_LLAMA_CPP_CACHE_RAM = 8192"))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("CTX_SIZE = 1", "text: 'CTX_SIZE' is not a variable of the container, write SM_LLAMA_CPP_"),
        ("SM_LLAMA_CPP_ctx_size = 1", "text: 'SM_LLAMA_CPP_ctx_size' is not a variable"),
        ("SM_LLAMA_CPP_ = 1", "text: 'SM_LLAMA_CPP_' is not a variable"),
        ("PORT = 1", "text: 'PORT' is not a variable"),
        ('"SM_LLAMA_CPP_A\\nB" = 1', r"text: 'SM_LLAMA_CPP_A\nB' is not a variable"),
        ("SM_LLAMA_CPP_PORT = 9", "text.SM_LLAMA_CPP_PORT cannot be set: SageMaker asks port 8080"),
        ('SM_LLAMA_CPP_MODEL = "/x"', "text.SM_LLAMA_CPP_MODEL cannot be set: the model is the one that"),
        ('SM_LLAMA_CPP_HF_REPO = "a/b"', "hf_repo, hf_file and revision, a commit, there"),
        ('SM_LLAMA_CPP_HF_TOKEN = "x"', "a Model's variables are no place for secrets"),
        ('SM_LLAMA_CPP_API_KEY = "x"', "IAM guards the endpoint"),
        (
            "SM_LLAMA_CPP_CTX_SISE = 9",
            "no flag --ctx-sise that a deployment may set; did you mean SM_LLAMA_CPP_CTX_SIZE?",
        ),
        ("SM_LLAMA_CPP_MLOCK = true", "llama-server has no flag --mlock that a deployment may set"),
        ('SM_LLAMA_CPP_TOOLS = "all"', "llama-server has no flag --tools that a deployment may set"),
        (
            "SM_LLAMA_CPP_JINJA = false",
            "JINJA: False is dropped by the container; write SM_LLAMA_CPP_NO_JINJA = true",
        ),
        ("SM_LLAMA_CPP_NO_WARMUP = false", "write SM_LLAMA_CPP_WARMUP = true"),
        ("SM_LLAMA_CPP_METRICS = false", "False is dropped by the container; remove it"),
        ("SM_LLAMA_CPP_FLASH_ATTN = false", "False is dropped by the container; write off"),
        ('SM_LLAMA_CPP_JINJA = "False"', "text.SM_LLAMA_CPP_JINJA: 'False' is dropped by the container"),
        ("SM_LLAMA_CPP_JINJA = 1", "text.SM_LLAMA_CPP_JINJA: 1 goes with no flag, --jinja stands alone"),
        ("SM_LLAMA_CPP_TOP_K = true", "--top-k needs a value, llama-server would take the next flag for it"),
        ('SM_LLAMA_CPP_ALIAS = ""', "text.SM_LLAMA_CPP_ALIAS: '' says nothing; use true"),
        ('SM_LLAMA_CPP_ALIAS = "a\\nb"', r"text.SM_LLAMA_CPP_ALIAS: 'a\nb' holds a line break"),
        ("SM_LLAMA_CPP_TEMP = nan", "text.SM_LLAMA_CPP_TEMP: nan is not a number that llama-server takes"),
        ("SM_LLAMA_CPP_ALIAS = [1]", "[1] is no value of a variable, allowed are strings, numbers and true"),
        (f'SM_LLAMA_CPP_ALIAS = "{"ä" * 513}"', "is 1,026 bytes long, SageMaker takes 1,024"),
        ("SM_LLAMA_CPP_CTX_SIZE = 0", "0: allowed are whole numbers from 256 to 1,048,576"),
        ("SM_LLAMA_CPP_PARALLEL = -1", "-1: allowed are whole numbers from 1 to 64"),
        ("SM_LLAMA_CPP_CACHE_RAM = -1", "-1: allowed are whole numbers from 0 to"),
        ('SM_LLAMA_CPP_CTX_SIZE = "many"', "'many': allowed are whole numbers"),
    ],
)
def test_what_is_refused(environment_of: EnvironmentOf, text: str, problem: str) -> None:
    with pytest.raises(ProblemsError) as caught:
        environment_of(FILE.format(endpoint=CPU, text=text))
    (found,) = caught.value.problems
    assert problem in found


def test_a_flag_that_is_not_listed_can_be_allowed_by_its_name(environment_of: EnvironmentOf) -> None:
    allowed = CPU + '\nunlisted_flags = ["brand-new", "port"]'
    text = environment_of(FILE.format(endpoint=allowed, text="SM_LLAMA_CPP_BRAND_NEW = 3"))
    assert text.container_variables["SM_LLAMA_CPP_BRAND_NEW"] == "3"
    for line, problem in [
        ("SM_LLAMA_CPP_BRAND_NEWER = 3", "unlisted_flags in [endpoint] allows another by its name"),
        ("SM_LLAMA_CPP_BRAND_NEW = false", "False is dropped by the container"),
        ("SM_LLAMA_CPP_PORT = 9", "SM_LLAMA_CPP_PORT cannot be set"),
    ]:
        with pytest.raises(ProblemsError) as caught:
            environment_of(FILE.format(endpoint=allowed, text=line))
        (found,) = caught.value.problems
        assert problem in found
    wrong = CPU + '\nunlisted_flags = ["--brand-new"]'
    with pytest.raises(ProblemsError, match="a flag's long name without its dashes"):
        environment_of(FILE.format(endpoint=wrong, text=""))


def test_number_and_size_are_bounded(environment_of: EnvironmentOf) -> None:
    many = "\n".join(f"SM_LLAMA_CPP_X{number} = 1" for number in range(98))
    with pytest.raises(ProblemsError, match="text comes to 101 variables, SageMaker takes 100"):
        environment_of(FILE.format(endpoint=CPU, text=many))
    long = "\n".join(f'{variable_of(flag)} = "{"x" * 1024}"' for flag in sorted(VALUE_FLAGS)[:40])
    with pytest.raises(ProblemsError, match=r"text comes to [0-9,]+ bytes, SageMaker takes 32,768"):
        environment_of(FILE.format(endpoint=CPU, text=long))


@pytest.mark.parametrize("name", [name for name in environment_names() if "text" in name])
def test_llama_server_itself_takes_what_an_environment_tells_it(
    name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    variables = load_environment(name).container_variables
    params = parse_flags(server_flags(variables, tmp_path_factory.getbasetemp()))
    assert (params.n_ctx, params.n_parallel, params.cache_ram_mib) == tuple(
        int(variables[f"SM_LLAMA_CPP_{key}"]) for key in ("CTX_SIZE", "PARALLEL", "CACHE_RAM")
    )


def test_llama_server_knows_every_flag_that_may_be_set() -> None:
    library = Path(extension.__file__).read_bytes()
    parse_flags([f"--{flag}" for flag in sorted(BARE_FLAGS)])
    assert not [flag for flag in VALUE_FLAGS if f"--{flag}\0".encode() not in library]
    for flag in ("no-such-flag", "mlock"):
        with pytest.raises(FlagsError):
            parse_flags([f"--{flag}"])
