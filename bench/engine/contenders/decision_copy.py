"""A copy of a GGUF that llama.cpp's own `/v1/systemone` takes for a decision model."""

import string
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path

import gguf
from gguf.scripts.gguf_new_metadata import MetadataDetails, copy_with_new_metadata

KIND = "openjev"
"""A kind that reads the logits of letters behind a chat template of its own ("systemone"), once a question,
as the adapter does. ("lev" asks every question in two orders.)"""

_LINE = "{{ '\\n' }}"


def decision_template(head: str, tail: str) -> str:
    """The adapter's state-first prompt in the variables of llama.cpp's template."""
    shown = "(option.description or option.key)"
    label = f"'{string.ascii_uppercase}'[loop.index0]"
    options = "{% for option in options %}{{ '\\n' + " + label + " + '. ' + " + shown + " }}{% endfor %}"
    return _escaped(head) + "{{ state }}" + _LINE * 2 + "{{ instructions }}" + options + _escaped(tail)


def _escaped(text: str) -> str:
    """As a Jinja expression, which no trimming of white space touches."""
    quoted = text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
    return "{{ '" + quoted + "' }}"


def write_decision_copy(source: Path, target: Path, template: str) -> None:
    """Copy `source` to `target` with the metadata that make it a decision model."""
    reader = gguf.GGUFReader(source)
    field = reader.get_field("general.architecture")
    assert field is not None
    architecture = field.contents()
    text = gguf.GGUFValueType.STRING
    added = {
        f"{architecture}.decision.type": MetadataDetails(text, KIND),
        "tokenizer.chat_template.systemone": MetadataDetails(text, template),
    }
    with redirect_stderr(StringIO()):  # its progress bar
        copy_with_new_metadata(reader, gguf.GGUFWriter(target, architecture), added, [])
