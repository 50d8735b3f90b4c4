"""A library that is not what the binding takes it for is refused at start, with the reason.

The libraries are real ones, changed in a copy: bytes of a default value, a symbol's name, a function's code.
"""

import platform
import re
import signal
import struct
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from bench.llama_builds.fetch import fetch_build, known_builds
from semif_adapter.http.start import EXIT_FAILED
from tests.adapter.llama.elf import AARCH64, Elf
from tests.support.servers.adapter_process import Adapter, Document

pytestmark = pytest.mark.skipif(
    (platform.system(), platform.machine()) != ("Linux", "x86_64"),
    reason="the pinned llama.cpp builds are for x86-64 Linux",
)

CONTEXT_DEFAULTS = "llama_context_default_params"
RETURN_TRUE = bytes((0xB8, 1, 0, 0, 0, 0xC3))  # mov eax, 1; ret
RETURN_0 = bytes((0x31, 0xC0, 0xC3))  # xor eax, eax; ret
RETURN_512 = bytes((0xB8, 0, 2, 0, 0, 0xC3))
RETURN_NAME = bytes((0x48, 0x8D, 0x05, 1, 0, 0, 0, 0xC3)) + b"GPU\0"  # lea rax, [rip + 1]; ret; the name
ILLEGAL_INSTRUCTION = bytes((0x0F, 0x0B))  # ud2: no processor has it
HEAD = struct.pack("<4I", 512, 2048, 512, 1)


@pytest.fixture(scope="module")
def original() -> Path:
    """A build that is laid out as the container is: libllama, ggml, and one backend for each processor."""
    return fetch_build(known_builds()["v0.5.0"])


@pytest.fixture
def folder(original: Path, tmp_path: Path) -> Path:
    """That build again, each file a link until it is changed."""
    for file in original.iterdir():
        (tmp_path / file.name).symlink_to(file.resolve())
    return tmp_path


@pytest.fixture
def doctor(folder: Path) -> Callable[..., None]:
    """Changes one library of `folder`: `doctor(change)`, or `doctor(change, "libggml.so")`."""

    def change_library(change: Callable[[Elf], None], name: str = "libllama.so") -> None:
        library = Elf(folder / name)
        change(library)
        (folder / name).unlink()
        (folder / name).write_bytes(library.data)

    return change_library


def ask(adapter: Adapter) -> Document:
    """The result of a decision."""
    decision = {"id": "d", "state": "s", "question": "q", "options": [{"id": "a"}, {"id": "b"}]}
    status, reply = adapter.ask({"decision": decision})
    assert status == 200
    result: Document = reply["result"]
    return result


def refusal(adapter: Adapter) -> str:
    """What `adapter` says as it refuses to start."""
    status, log = adapter.end()
    assert status == EXIT_FAILED
    return log


@pytest.fixture
def start(folder: Path, tiny_gguf: Callable[..., Path]) -> Iterator[Callable[..., Adapter]]:
    """Starts adapters on a tiny model; without another folder they use `folder`'s library."""
    with ExitStack() as started:

        def start_one(library_dir: Path = folder, **variables: str) -> Adapter:
            settings = {
                "SEMIF_GGUF": str(tiny_gguf()),
                "SEMIF_LIBRARY_DIR": str(library_dir),
                "SEMIF_THREADS": "1",
                "SEMIF_CONTEXT_TOKENS": "512",
                "SEMIF_LOG_LEVEL": "ERROR",
            }
            return started.enter_context(Adapter(["-m", "semif_adapter", "serve"], **settings | variables))

        yield start_one


def move_booleans(library: Elf) -> None:
    """The default values one byte later than the fields that they are for."""
    library.replace(bytes((0, 1, 1, 1)), bytes((0, 0, 1, 1)), function=CONTEXT_DEFAULTS)
    library.replace(bytes((0xBA, 1, 0, 0, 0)), bytes((0xBA, 1, 1, 0, 0)), function=CONTEXT_DEFAULTS)


REFUSALS: dict[str, tuple[Callable[[Elf], None], str]] = {
    "a field before the others": (
        lambda library: library.replace(HEAD, struct.pack("<4I", 0, 512, 2048, 512)),
        "does not begin with n_ctx, n_batch, n_ubatch, n_seq_max",
    ),
    "another default": (
        lambda library: library.replace(bytes((0, 1, 1, 1)), bytes((0, 1, 1, 0)), function=CONTEXT_DEFAULTS),
        "the booleans of llama_context_params are not what they were",
    ),
    "defaults that point beside the fields": (
        move_booleans,
        r"a context was asked for with .* and came with",
    ),
    "another order of the model's fields": (
        lambda library: library.replace(
            struct.pack("<ii", -1, 1), struct.pack("<ii", 1, -1), function="llama_model_default_params"
        ),
        "n_gpu_layers is not where llama_model_params had it",
    ),
    "a function by another name": (
        lambda library: library.rename("llama_memory_seq_rm", "llama_memory_seq_RM"),
        "it lacks llama_memory_seq_rm; use another build",
    ),
    "a function that does nothing": (
        lambda library: library.set_code("llama_memory_seq_rm", RETURN_TRUE),
        r"fails its start-up decision: llama\.cpp could not run a batch",
    ),
    "another processor": (
        lambda library: library.set_machine(AARCH64),
        r"libllama\.so cannot be opened: .*for this machine's processor",
    ),
    "a library that is not installed": (
        lambda library: library.replace(b"\0libm.so.6\0", b"\0libq.so.6\0"),
        r"libq\.so\.6: cannot open shared object file.*; install the library that is missing",
    ),
}


@pytest.mark.parametrize("what", REFUSALS)
def test_a_changed_library_is_refused_with_the_reason(
    doctor: Callable[..., None], start: Callable[..., Adapter], what: str
) -> None:
    change, reason = REFUSALS[what]
    doctor(change)

    assert re.fullmatch(rf"semif_adapter: cannot start: .*{reason}.*\n", refusal(start()))


def test_a_library_whose_answers_depend_on_the_load_says_so(
    doctor: Callable[..., None], start: Callable[..., Adapter], embedded_gguf: Path
) -> None:
    """All streams share one cache here, and the library denies it: only the self-test can tell."""

    def share_and_deny(library: Elf) -> None:
        move_booleans(library)
        library.set_code("llama_n_ctx_seq", RETURN_512)

    doctor(share_and_deny)

    adapter = start(SEMIF_GGUF=str(embedded_gguf), SEMIF_READOUT="text", SEMIF_LOG_LEVEL="INFO")

    log, ready = adapter.wait_ready()
    assert ready["invariant"] is False
    assert "answers depend on what else is computed" in log
    assert ask(adapter)["model"] == ready


def test_a_library_that_is_none_of_llama_cpps_is_refused(folder: Path, start: Callable[..., Adapter]) -> None:
    (folder / "libllama.so").unlink()
    (folder / "libllama.so").symlink_to(folder / "libggml-base.so")

    assert re.search(r"it lacks (llama_\w+, ){4}llama_\w+ and \d+ more; use another", refusal(start()))


def test_a_folder_without_a_backend_for_this_processor_is_refused(
    folder: Path, start: Callable[..., Adapter]
) -> None:
    for backend in folder.glob("libggml-cpu-*.so"):
        backend.unlink()

    assert f"no CPU backend could be loaded from {folder}" in refusal(start())


def test_a_library_for_a_newer_system_is_refused(start: Callable[..., Adapter]) -> None:
    build = known_builds()["b11739"]
    if build.runs_here:
        pytest.skip(f"this machine's C library is new enough for {build.name}")

    reason = refusal(start(fetch_build(build)))

    assert re.search(r"cannot be opened: .*version `GLIBC_2\.38' not found.*C library\n", reason)


def crash(library: Elf) -> None:
    library.set_code("llama_backend_init", ILLEGAL_INSTRUCTION)


def cut_short(library: Elf) -> None:
    del library.data[3_000_000:]


@pytest.mark.parametrize(("change", "number"), [(crash, signal.SIGILL), (cut_short, signal.SIGBUS)])
def test_a_library_that_kills_a_process_ends_the_start_with_one_line(
    doctor: Callable[..., None],
    start: Callable[..., Adapter],
    change: Callable[[Elf], None],
    number: signal.Signals,
) -> None:
    """The first load is in a process of its own, whose end is a line here."""
    doctor(change)

    status, log = start(SEMIF_LOG_LEVEL="INFO").end()

    assert status == 1
    assert log.count(f"it ended with {number.name}") == 1
    assert log.splitlines()[-1].startswith("semif_adapter: cannot start: llama.cpp does not survive ")


@pytest.fixture
def with_gpu(folder: Path) -> Path:
    """The build with a second CPU backend beside the first that says it is a GPU, and works as one.

    What llama.cpp does with it is what it does with a GPU: it puts layers on it and computes there.
    """
    backend = Elf(folder / "libggml-cpu-x64.so")
    backend.set_code("ggml_backend_cpu_device_get_type", RETURN_TRUE)
    for name in ("ggml_backend_cpu_device_get_name", "ggml_backend_cpu_reg_get_name"):
        backend.set_code(name, RETURN_NAME)
    (folder / "libggml-cuda.so").write_bytes(backend.data)
    return folder


@pytest.mark.parametrize(
    ("asked", "devices", "layers"), [(-1, ["GPU", "CPU"], 3), (1, ["GPU", "CPU"], 1), (0, ["CPU"], 0)]
)
@pytest.mark.usefixtures("with_gpu")
def test_log_and_metadata_name_the_devices_and_the_layers_offloaded(
    start: Callable[..., Adapter], asked: int, devices: list[str], layers: int
) -> None:
    adapter = start(SEMIF_GPU_LAYERS=str(asked), SEMIF_LOG_LEVEL="DEBUG")
    log, ready = adapter.wait_ready()

    assert [name.split()[0] for name in ready["devices"]] == devices
    assert (ready["backend"], ready["gpu_layers"]) == (devices[0], layers)
    # Without layers on it, it must not be lent single products either.
    assert ("using device GPU" in log) == (layers > 0)
    assert ask(adapter)["model"] == ready


@pytest.mark.usefixtures("with_gpu")
def test_an_offload_that_nobody_reports_is_refused(
    doctor: Callable[..., None], start: Callable[..., Adapter]
) -> None:
    """Whatever the reason, a changed word in llama.cpp's log here: without proof there is no start."""
    words = b"offloaded %d/%d layers to GPU"
    doctor(lambda library: library.replace(words, words.replace(b"offloaded", b"offered  ")))

    assert "SEMIF_GPU_LAYERS=-1 was asked for, but no GPU took a layer" in refusal(
        start(SEMIF_GPU_LAYERS="-1")
    )


def test_a_gpu_that_is_not_there_is_refused(folder: Path, start: Callable[..., Adapter]) -> None:
    log = refusal(start(SEMIF_GPU_LAYERS="-1"))

    assert "SEMIF_GPU_LAYERS=-1 asks for a GPU, but llama.cpp sees only CPU" in log
    assert f"(there is no libggml-cuda*.so in {folder})" in log


def test_a_gpu_backend_without_a_gpu_is_refused(
    with_gpu: Path, doctor: Callable[..., None], start: Callable[..., Adapter]
) -> None:
    doctor(
        lambda backend: backend.set_code("ggml_backend_cpu_reg_get_device_count", RETURN_0),
        "libggml-cuda.so",
    )

    assert "llama.cpp sees only CPU" in refusal(start(SEMIF_GPU_LAYERS="-1"))


def test_a_gpu_backend_that_lacks_its_driver_is_named(
    with_gpu: Path, doctor: Callable[..., None], start: Callable[..., Adapter]
) -> None:
    """As on a host without the CUDA libraries, where llama.cpp goes on without a word."""
    doctor(lambda backend: backend.replace(b"\0libstdc++.so.6\0", b"\0libcudart.so.0\0"), "libggml-cuda.so")

    log = refusal(start(SEMIF_GPU_LAYERS="-1"))

    assert "(libggml-cuda.so cannot be opened: libcudart.so.0: cannot open shared object file" in log
