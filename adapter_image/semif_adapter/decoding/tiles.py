"""Short passes made whole tiles: on a CPU 64 tokens can cost less than 50.

llama.cpp's CPU backend computes flash attention for 64 query rows or more as products of tiles
(`GGML_FA_TILE_Q` in ggml-cpu), and for fewer row by row, which takes three times as long for each. Deep in a
prompt attention is most of a pass. Tokens behind the last real one change no row before it: so many are put
there that the tile is whole, and cut off again.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from semif_adapter.llama.context import Context, Pass, Rows
from semif_adapter.llama.model import Model, Tokens
from semif_adapter.machine.memory import whole_numbers

TILE = 64
"""Query rows that flash attention takes together."""
ROW_COST, TILE_COST = 7.4, 2.15
"""What a value of a query costs for each token before it, row by row and in tiles, where a value of a weight
matrix costs 1. Fitted to SmolLM2-135M in Q4_1 (docs/measured/performance-tiles.md, seen on 2026-11-30)."""
FAST_TYPES = ("2", "7", "14", "15", "25")
"""GGUF's `general.file_type` of Q4_0, Q8_0, Q4_K_S, Q4_K_M and IQ4_NL, for which llama.cpp has fast kernels
in every build and on every processor that was looked at (docs/choosing.md)."""
FAST_WEIGHT_COST = 0.5
"""What a value of theirs costs: as measured of SmolLM2 in Q4_0 and of Qwen3's shape in Q4_K_M."""
_GROUP = 4  # rows that matrix products take together
_REAL = 48


@dataclass(frozen=True)
class Tiles:
    """Which passes of a model are padded: a function of the model, the pass's length and its depth alone.

    So the same segments always go through the same computation.
    """

    query: int
    """Values of a token's queries in all layers."""
    weights: float
    """What a token's products with all weight matrices cost."""
    cells: int
    """Tokens that a stream has room for; a padded pass stays within."""

    def padding(self, position: int, count: int) -> int:
        """How many tokens a pass of `count` at `position` gets behind it, so that it costs less."""
        if count >= TILE or position + TILE > self.cells:
            return 0
        plain = count * (self.weights + ROW_COST * self.query * (position + count / 2))
        padded = TILE * (self.weights + TILE_COST * self.query * (position + TILE))
        return TILE - count if padded < plain else 0


def choose_tiles(context: Context, model: Model, sample: Tokens, *, reads_head: bool) -> Tiles | None:
    """The rule for a model that can forget a tail; None where passes stay as they are.

    None on a GPU, with a sliding window, which bounds what a row sees, with experts, which not every token
    goes through, or an unknown shape; where it never pays; and where the library computes no tiles. Leaves
    the context empty.
    """
    if model.gpu_layers or model.has_sliding_window or context.batch_tokens < TILE + _GROUP:
        return None
    tiles = _shape(model.metadata, context.stream_cells)
    pays = tiles is not None and tiles.padding(tiles.cells - TILE, TILE - 1) > 0
    return tiles if pays and _has_tiles(context, sample, reads_head=reads_head) else None


def _shape(metadata: Callable[[str], str | None], cells: int) -> Tiles | None:
    """A dense model's, from a GGUF's metadata (names of the keys: `docs/gguf.md` in ggml)."""
    number = whole_numbers(metadata)
    layers, width, heads = number("block_count"), number("embedding_length"), number("attention.head_count")
    cached, inner = number("attention.head_count_kv") or heads, number("feed_forward_length")
    if (
        not (layers and width and heads and inner)
        or number("expert_count")
        or number("attention.kv_lora_rank")
    ):
        return None
    size = number("attention.key_length") or width // heads
    cost = FAST_WEIGHT_COST if metadata("general.file_type") in FAST_TYPES else 1
    weights = cost * layers * width * (2 * size * (heads + cached) + 3 * inner)
    return Tiles(layers * heads * size, weights, cells)


def _has_tiles(context: Context, sample: Tokens, *, reads_head: bool) -> bool:
    """Whether the library computes 64 rows otherwise than 60, and 68 as 64: by bits, which no load moves."""
    tokens = np.resize(sample, _REAL)
    wanted, marks = (0, (_REAL - 1,)) if reads_head else (1, ())

    def last_row(count: int) -> Rows:
        context.reset()
        return context.run([Pass(0, 0, tokens, wanted, marks, count - _REAL)])[0]

    rows, tile, more = (last_row(count) for count in (TILE - _GROUP, TILE, TILE + _GROUP))
    context.reset()
    return not np.array_equal(rows, tile) and np.array_equal(tile, more)
