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
KEV_TOKENS = ("<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>", "<|box_start|>", "<|box_end|>")
KEV_TEMPERATURE = 1.75


def write_tiny_kev(path: Path, *, width: int = 16) -> None:
    """A hybrid model with Kev's head: queries and keys of `width` numbers."""
    random = np.random.default_rng(7)
    write_model(
        path,
        SHAPES["qwen35"],
        byte_vocabulary().with_control(*KEV_TOKENS),
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


_LISTED = (
    "{% for o in options %}{{ o.label }}. "
    "{% if type == 'score' %}(level {{ o.key }} of {{ options | length - 1 }}) "
    "{% else %}{{ o.key }}{% endif %}" + _DESCRIBED + "{{ '\\n' }}{% endfor %}"
)
_ASKED = (
    "<|im_start|>user\n# State\n"
    + _TEXT.format("state")
    + "\n\n# Question\n"
    + _TEXT.format("instructions")
    + "\n"
)
_ANSWER = "{{ '<|im_end|>\\n<|im_start|>assistant\\n<think>\\n\\n</think>\\n\\n' }}"
_FIELD = (
    '{"name": {{ q.id | tojson }}, "about": {{ q.instructions | tojson }}, "choices": ['
    "{% for o in q.options %}{{ [o.label, o.key, o.description] | tojson }}"
    "{% if not loop.last %}, {% endif %}{% endfor %}]}"
)
LABEL_TEMPLATES = {
    "openjev": _ASKED
    + "{% set letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz' %}"
    + "{% for o in options %}{{ letters[loop.index0] }}) {{ o.key }}"
    + _DESCRIBED
    + "{{ '\\n' }}{% endfor %}"
    + _ANSWER,
    "lev": _ASKED
    + "{% if type == 'noul' %}From 0 to 8{% for o in options %}{% if o.description %} {{ o.key }}"
    + _DESCRIBED
    + "{% endif %}{% endfor %}{% else %}"
    + _LISTED
    + "{% endif %}"
    + _ANSWER,
    "nimble": (
        "<|im_start|>system\n"
        "{% set ns = namespace(code='one-letter') %}"
        "{% for q in questions %}{% if q.options | length > 26 %}{% set ns.code = 'short' %}{% endif %}"
        "{% endfor %}Answer with the {{ ns.code }} code.<|im_end|>\n"
        '<|im_start|>user\n{"context": {{ state | tojson }}, "schema": ['
        "{% for q in questions %}" + _FIELD + "{% if not loop.last %}, {% endif %}{% endfor %}]}"
        "{{ '\\n\\nField: ' }}{{ id | tojson }}" + _ANSWER
    ),
    "pplx-decider": "{% for image in images %}{{ image }}{% endfor %}" + _ASKED + _LISTED + _ANSWER,
}
"""What each type of plain language model is asked with."""


def label_metadata(architecture: str, kind: str) -> Metadata:
    """The same for a kind that is read by its labels, with temperatures of every form."""
    temperatures = {"choice": 2.0, "noul": 1.5, "choice.3_5": 0.75, "score.small": 1.25, "score.2": 3.0}
    return (
        *head_metadata(architecture, kind, LABEL_TEMPLATES[kind]),
        *((f"{architecture}.decision.temperature.{name}", value) for name, value in temperatures.items()),
    )
