"""Models in other types of weights: what is written is what is said, and llama.cpp takes it."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import gguf
import pytest

from bench.models.quantised import matrix_kind, quantised, weight_types
from semif.errors import SemifError
from semif.serve.local_adapter import library_folder
from semif_adapter.llama.libllama import open_library
from semif_adapter.llama.model import Model

Kind = gguf.GGMLQuantizationType


def test_a_model_is_written_in_another_type_and_says_which(
    tiny_gguf: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    made = quantised(tiny_gguf(), "Q8_0")
    assert weight_types(made) == {"Q8_0": 1.0}
    assert quantised(tiny_gguf(), "Q8_0") == made
    with closing(Model(open_library(library_folder().resolve()), made, 0)) as model:
        assert model.tokenize("as before", parse_special=False).size > 0
    with pytest.raises(SemifError, match=r'no type of weights "Q9".*Q4_K_M'):
        quantised(tiny_gguf(), "Q9")


@pytest.mark.parametrize(
    ("tensor", "columns", "is_output", "kind"),
    [
        ("blk.5.attn_q.weight", 1024, False, Kind.Q4_K),
        ("blk.0.attn_v.weight", 1024, False, Kind.Q6_K),
        ("blk.5.ffn_down.weight", 3072, False, Kind.Q6_K),
        ("blk.6.ffn_down.weight", 3072, False, Kind.Q4_K),
        ("token_embd.weight", 1024, True, Kind.Q6_K),
        ("blk.5.attn_q.weight", 576, False, Kind.Q5_0),
        ("token_embd.weight", 576, True, Kind.Q8_0),
        ("blk.5.attn_q.weight", 100, False, Kind.F16),
    ],
)
def test_rows_that_k_quants_do_not_fit_get_what_llama_cpp_gives_them(
    tensor: str, columns: int, is_output: bool, kind: Kind
) -> None:
    assert matrix_kind("Q4_K_M", tensor, columns, 28, is_output=is_output, queries=2) == kind


@pytest.mark.parametrize(("queries", "kind"), [(2, Kind.IQ4_NL), (4, Kind.Q5_K)])
def test_values_that_many_heads_share_get_more_bits_in_iq4_nl(queries: int, kind: Kind) -> None:
    found = matrix_kind("IQ4_NL", "blk.9.attn_v.weight", 1024, 24, is_output=False, queries=queries)
    assert found == kind
