"""Tiny models with decision heads: random weights, and what llama.cpp's converters write for each kind.

The templates say what those of the published models say, in our words (conversion/lev.py and its neighbours
in llama.cpp, read at 711ecf36 on 2026-11-30).
"""

from pathlib import Path

import numpy as np

from bench.models.random_gguf import byte_vocabulary, write_model
from bench.models.tiny_models import SHAPES, WIDTH, Plain

Metadata = tuple[tuple[str, str | int | float | bool | None], ...]

_TEXT = "{{% if {0} is string %}}{{{{ {0} }}}}{{% else %}}{{{{ {0} | tojson }}}}{{% endif %}}"
_DESCRIBED = "{% if o.description %}: " + _TEXT.format("o.description") + "{% endif %}"
KEV_TEMPLATE = (
    "<|fim_prefix|>{{ state }}<|fim_middle|>{{ instructions }}"
    "{% for o in options %}<|box_start|>"
    "{% if type != 'score' %}"
    "{{ o.key if type == 'choice' else 'yes' if o.key == 'true' else 'no' }}"
    "{% if o.description %}: {% endif %}"
    "{% endif %}"
    "{{ o.description or '' }}<|box_end|>{% endfor %}<|fim_suffix|>"
)
_KEV_TOKENS = ("<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>", "<|box_start|>", "<|box_end|>")
KEV_TEMPERATURE = 1.75


def write_tiny_kev(path: Path, *, width: int = 16) -> None:
    """A hybrid model with Kev's head: queries and keys of `width` numbers."""
    random = np.random.default_rng(7)
    write_model(
        path,
        SHAPES["qwen35"],
        byte_vocabulary().with_control(*_KEV_TOKENS),
        Plain(),
        name="tiny-kev",
        template=None,
        metadata=(
            *head_metadata("qwen35", "kev", KEV_TEMPLATE),
            ("qwen35.embedding_length_out", 2 * width),
            *(
                (f"qwen35.decision.temperature.{kind}", KEV_TEMPERATURE)
                for kind in ("choice", "score", "noul")
            ),
        ),
        head={
            "cls.output.weight": random.standard_normal((2 * width, WIDTH), dtype=np.float32) * 0.2,
            "cls.output.bias": random.standard_normal(2 * width, dtype=np.float32) * 0.1,
        },
    )


def head_metadata(architecture: str, kind: str, template: str) -> Metadata:
    """What makes a model of `architecture` one with a head of this kind, by its metadata."""
    return ((f"{architecture}.decision.type", kind), ("tokenizer.chat_template.systemone", template))
