import struct
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from semif_adapter.contract.errors import StartupError
from semif_adapter.decoding.steps import complete, decode
from semif_adapter.decoding.streams import Stream
from semif_adapter.engine.engine import Engine
from semif_adapter.llama.context import Context, Rows
from semif_adapter.llama.libllama import Library, open_library
from semif_adapter.llama.model import Model, Tokens
from semif_adapter.llama.struct_layouts import ContextLayout, ModelLayout
from semif_adapter.prompt.chat_template import plain_template
from semif_adapter.prompt.text_length import TextLength
from semif_adapter.prompt.writer import PromptWriter

BATCH = 32


@pytest.fixture(params=["qwen3", "gemma3", "qwen35"])
def model(
    request: pytest.FixtureRequest, library: Library, tiny_gguf: Callable[..., Path]
) -> Iterator[Model]:
    with closing(Model(library, tiny_gguf(architecture=request.param), 0)) as model:
        yield model


@pytest.fixture
def new_context(model: Model) -> Iterator[Callable[[], Context]]:
    with ExitStack() as stack:
        yield lambda: stack.enter_context(
            closing(Context(model, streams=3, context_tokens=1024, threads=1, batch_tokens=BATCH))
        )


def some_tokens(count: int, seed: int) -> Tokens:
    return np.random.default_rng(seed).integers(32, 127, count).astype(np.int32)


def extend(stream: Stream, tokens: Tokens, wanted: int = 0) -> Rows:
    return complete(stream.extend(tokens, wanted), stream.context.run)


def test_the_log_and_the_build_are_heard(library: Library) -> None:
    assert "ggml" in library.build
    assert [device.backend for device in library.devices] == ["CPU"]


@pytest.mark.parametrize(
    ("offset", "value", "reason"),
    [
        (8, struct.pack("<I", 640), "does not begin with n_ctx, n_batch, n_ubatch, n_seq_max"),
        (96, bytes(104), "the booleans of llama_context_params are not what they were"),
    ],
)
def test_an_unknown_context_layout_is_refused(
    library: Library, offset: int, value: bytes, reason: str
) -> None:
    defaults = bytearray(bytes(library.llama_context_default_params().raw))
    assert ContextLayout.find(bytes(defaults), "b1") == library.context_layout

    defaults[offset : offset + len(value)] = value

    with pytest.raises(StartupError, match=f"build b1 is not supported: .*{reason}"):
        ContextLayout.find(bytes(defaults), "b1")


@given(tail=st.binary(min_size=64, max_size=64))
@example(tail=bytes((0, 1, 1, 1, 1, 0)) * 10)
def test_what_lies_behind_the_struct_does_not_matter(library: Library, tail: bytes) -> None:
    """The blob is larger than the struct, and its rest is what the stack held before: old defaults, even."""
    defaults = bytes(library.llama_context_default_params().raw)
    end = library.context_layout.kv_unified + 1

    assert ContextLayout.find(defaults[:end] + tail, "b1") == library.context_layout


def test_an_unknown_model_layout_is_refused(library: Library) -> None:
    defaults = bytes(library.llama_model_default_params().raw)

    with pytest.raises(StartupError, match="build b1 is not supported: n_gpu_layers is not where"):
        ModelLayout.find(bytes(8) + defaults[:-8], "b1")


def test_a_value_that_does_not_arrive_is_noticed(
    model: Model, library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fingerprint fits, the proof does not: `kv_unified` written one byte too early."""
    layout = library.context_layout
    wrong = ContextLayout(**{**vars(layout), "kv_unified": layout.kv_unified - 1, "n_seq_max": layout.n_ctx})
    monkeypatch.setattr(library, "context_layout", wrong)

    with pytest.raises(StartupError, match="is not supported: a context was asked for with"):
        Context(model, streams=2, context_tokens=256, threads=1)


def test_a_folder_without_a_library_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StartupError, match=r"no libllama\.so in .*SEMIF_LIBRARY_DIR"):
        open_library(tmp_path)
    (tmp_path / "libllama.so").write_text("not a library")
    with pytest.raises(StartupError, match=r"libllama\.so cannot be opened"):
        open_library(tmp_path)


@pytest.mark.parametrize(
    ("metadata", "reason"),
    [
        (("tokenizer.ggml.pre", "brandnew"), "unknown pre-tokenizer type: 'brandnew'"),
        (("general.architecture", "brandnew"), "unknown model architecture: 'brandnew'"),
        (("tokenizer.ggml.model", "brandnew"), "unknown tokenizer: 'brandnew'"),
        (("qwen3.embedding_length", 48), "token_embd.weight' has wrong shape"),
        (("qwen3.block_count", None), "key not found in model: qwen3.block_count"),
    ],
)
def test_a_file_that_does_not_load_says_why(
    library: Library, tiny_gguf: Callable[..., Path], metadata: tuple[str, object], reason: str
) -> None:
    with pytest.raises(StartupError) as raised:
        Model(library, tiny_gguf(metadata=(metadata,)), 0)

    assert reason in str(raised.value)
    assert "\n" not in str(raised.value)


def test_warnings_of_a_load_are_told_once(
    library: Library, tiny_gguf: Callable[..., Path], caplog: pytest.LogCaptureFixture
) -> None:
    path = tiny_gguf(metadata=(("tokenizer.ggml.pre", None),))
    with caplog.at_level("WARNING"), closing(Model(library, path, 0)):
        warned = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]

    assert any("GENERATION QUALITY WILL BE DEGRADED" in line for line in warned)
    assert len(warned) == len(set(warned))
    assert not any("***" in line for line in warned)


@pytest.mark.parametrize("bos", [None, 5_000])
def test_bos_is_what_the_metadata_names_inside_the_vocabulary(
    library: Library, tiny_gguf: Callable[..., Path], bos: int | None
) -> None:
    """llama.cpp's own default in a vocabulary of GPT-2's kind is token 11, a comma."""
    path = tiny_gguf(add_bos=True, metadata=(("tokenizer.ggml.bos_token_id", bos),))
    with closing(Model(library, path, 0)) as model:
        assert (model.wants_bos, model.bos) == (True, -1)
        written = PromptWriter(model, plain_template("s"), "text", TextLength(model, 512)).system
    assert written.tolist() == [*b"s\n\n"]


def test_a_template_that_is_no_text_is_refused_with_a_line(
    library: Library, tiny_gguf: Callable[..., Path], tmp_path: Path
) -> None:
    path = tmp_path / "latin.gguf"
    path.write_bytes(tiny_gguf(template="MARKER{{ messages }}").read_bytes().replace(b"MARKER", b"MARK\xe9R"))
    with (
        closing(Model(library, path, 0)) as model,
        pytest.raises(StartupError, match=r"not UTF-8 \(byte 4\)"),
    ):
        _ = model.chat_template


@pytest.mark.parametrize("kept", [0.0, 0.4, 0.9])
def test_a_truncated_model_stops_the_start_with_one_line(
    kept: float, tiny_gguf: Callable[..., Path], load_engine: Callable[..., Engine], tmp_path: Path
) -> None:
    content = tiny_gguf().read_bytes()
    path = tmp_path / "cut.gguf"
    path.write_bytes(content[: int(len(content) * kept)])

    with pytest.raises(StartupError, match=r"llama\.cpp cannot load cut\.gguf: .+") as raised:
        load_engine(path)

    assert "\n" not in str(raised.value)


def test_gpu_layers_without_a_gpu_stop_the_start(
    tiny_gguf: Callable[..., Path], load_engine: Callable[..., Engine]
) -> None:
    with pytest.raises(
        StartupError, match=r"SEMIF_GPU_LAYERS=-1 asks for a GPU, but llama\.cpp sees only CPU"
    ):
        load_engine(tiny_gguf(), gpu_layers=-1)


@pytest.mark.parametrize("count", [1, BATCH, BATCH + 1, 2 * BATCH + 3])
def test_logits_are_those_of_the_tokens_asked_for(new_context: Callable[[], Context], count: int) -> None:
    """One call, whatever its size, gives each token's row as decoding token by token does."""
    context, tokens = new_context(), some_tokens(count, 1)
    expected = np.concatenate([decode(context, 0, at, tokens[at : at + 1], 1) for at in range(count)])

    for wanted in {0, 1, min(3, count), count}:
        context.cut(1, 0)
        rows = decode(context, 1, 0, tokens, wanted)
        assert rows.shape == (wanted, expected.shape[1])
        np.testing.assert_allclose(rows, expected[count - wanted :], atol=1e-3)


def test_a_sequence_is_the_same_to_the_bit_whatever_else_there_is(
    model: Model, new_context: Callable[[], Context]
) -> None:
    segments = [some_tokens(count, seed) for seed, count in enumerate((23, 70, 11))]

    def run(stream: Stream) -> bytes:
        for segment in segments[:-1]:
            extend(stream, segment)
        return extend(stream, segments[-1], 1).tobytes()

    def streams() -> list[Stream]:
        context = new_context()
        return [Stream(context, index, can_cut=not model.has_recurrent_layers) for index in range(3)]

    alone = run(streams()[0])
    first, second, third = streams()
    extend(first, some_tokens(150, 9))
    extend(third, some_tokens(40, 8))
    assert run(second) == alone
    first.clear()
    extend(third, some_tokens(5, 7))
    assert run(first) == alone


def test_a_branch_is_taken_back_without_a_trace(model: Model, new_context: Callable[[], Context]) -> None:
    prefix, suffix = some_tokens(50, 1), some_tokens(20, 2)
    can_cut = not model.has_recurrent_layers
    fresh = Stream(new_context(), 0, can_cut=can_cut)
    extend(fresh, prefix)
    expected = extend(fresh, suffix, 1)

    context = new_context()
    stream, other = Stream(context, 0, can_cut=can_cut), Stream(context, 1, can_cut=can_cut)
    extend(stream, prefix)
    mark = stream.mark()
    for length in (1, 600, 20):  # the long one would push the prefix out of a sliding window's cells
        extend(stream, some_tokens(length, 3 + length), 1)
        extend(other, some_tokens(7, length))
        stream.rewind(mark)
    assert stream.length == len(prefix)
    np.testing.assert_array_equal(extend(stream, suffix, 1), expected)


def test_only_recurrent_layers_refuse_to_forget_a_tail(
    model: Model, new_context: Callable[[], Context]
) -> None:
    context = new_context()
    decode(context, 0, 0, some_tokens(20, 1))

    assert context.cut(0, 10) is not model.has_recurrent_layers
