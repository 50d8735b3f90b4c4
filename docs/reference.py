"""Writes docs/reference.md from the types: `make reference`. Nothing in that page is written by hand."""

import json
import sys
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import click

from semif.cli import COMMANDS, main
from semif.environment.schema import environment_schema, plain_schema
from semif.models.checkpoint.checkpoint_preset import CheckpointPreset
from semif.models.presets import Preset
from semif.policy.policy import Policy
from semif.sagemaker.llama_server_flags import BARE_FLAGS, VALUE_FLAGS
from semif.sagemaker.llama_server_variables import variable_of
from semif_adapter.archive.manifest import ModelManifest
from semif_adapter.contract.settings import PREFIX, Settings

PAGE = Path(__file__).with_name("reference.md")
MANY = 24
"""More values than this are not listed."""
INTRODUCTION = """\
# Reference

Every key, variable, command and option. This page is written from the types by `make reference`; what belongs
together and why is in the other pages.
"""


def reference() -> str:
    """The whole page."""
    parts = (_environments(), _settings(), _presets(), _manifest(), _policies(), _commands())
    return "\n".join([INTRODUCTION, *chain.from_iterable(parts)])


def _environments() -> Iterator[str]:
    schema = environment_schema()
    yield (
        "## Environment files\n\n`environments/NAME.toml`, see [environments.md](environments.md). "
        "`semif env show NAME` tells what a file comes to.\n"
    )
    tables = {key: value for key, value in schema["properties"].items() if value.get("properties")}
    top = {key: value for key, value in schema["properties"].items() if key not in tables}
    yield _keys("At the top", {**schema, "properties": top})
    for name, table in tables.items():
        if name == "adapter":
            yield "### `[adapter]`\n\n" + _said(table) + " The keys are the names of the settings below.\n"
        elif name == "text":
            flags = ", ".join(f"`{variable_of(flag)}`" for flag in sorted(VALUE_FLAGS))
            bare = ", ".join(f"`{variable_of(flag)}`" for flag in sorted(BARE_FLAGS))
            yield f"### `[text]`\n\n{_said(table)} See [text.md](text.md).\n\nWith a value: {flags}.\n"
            yield f"With `true`: {bare}.\n"
        else:
            yield _keys(f"`[{name}]`", table)


def _settings() -> Iterator[str]:
    yield (
        "## Settings of the adapter\n\n"
        "Environment variables of the container and of `semif serve`; in `[adapter]` of an environment file "
        f"by their names in lower case without `{PREFIX}`. An unknown `{PREFIX}*` variable or a wrong value "
        "stops the start, all of them named in one line.\n"
    )
    schema = Settings.model_json_schema()["properties"]
    yield _table(
        ("variable", "default", "allowed", "meaning"),
        [
            (
                f"`{PREFIX}{name.upper()}`",
                _default(field.default),
                _allowed(schema[name]),
                str(field.description),
            )
            for name, field in Settings.model_fields.items()
        ],
    )
    yield (
        "Not settable: the head of a request (64 KiB, 10 s), the nesting of its JSON (64 levels), its commas "
        "and opening brackets (200,000), an idle connection (75 s).\n"
    )


def _presets() -> Iterator[str]:
    schema = plain_schema(Preset)
    del schema["properties"]["name"]
    yield "## Model presets\n\n`models/PRESET.toml`; `semif model pin` writes them ([pins.md](pins.md)).\n"
    yield from _nested(schema)
    schema = plain_schema(CheckpointPreset)
    del schema["properties"]["name"]
    yield (
        "## Presets of checkpoints\n\n`models/checkpoints/PRESET.toml`, for kind `decider`; `semif model "
        "pin-checkpoint` writes them ([decider.md](decider.md)).\n"
    )
    yield from _nested(schema)
    yield _keys(
        "Each of `[[checkpoint.files]]` and `[[base.files]]`",
        schema["properties"]["base"]["properties"]["files"]["items"],
    )


def _manifest() -> Iterator[str]:
    yield (
        "## Manifest of a model archive\n\n`model-manifest.json`, written by the packer; its SHA-256 is the "
        "model's key in S3. `prompt` is the preset's `[prompt]`.\n"
    )
    schema = plain_schema(ModelManifest)
    member = schema["properties"]["members"]["items"]
    del schema["properties"]["prompt"]
    yield _keys("At the top", schema)
    yield _keys("Each of `members`", member)


def _policies() -> Iterator[str]:
    schema = plain_schema(Policy)
    rules, vetoes = (schema["properties"][name]["items"] for name in ("rules", "vetoes"))
    [bar] = schema["properties"]["endpoints"]["patternProperties"].values()
    yield "## Policy files\n\nSee [policy.md](policy.md).\n"
    yield from _nested(schema)
    yield _keys("Each of `[endpoints.NAME]`", bar)
    yield _keys("Each of `answerers`", schema["properties"]["made_for"]["properties"]["answerers"]["items"])
    yield _keys("Each of `[[rules]]`", rules)
    yield _keys("Each of `[[vetoes]]`", vetoes)
    yield _keys("Each of their `when`", rules["properties"]["when"]["items"])


def _nested(schema: dict[str, Any]) -> Iterator[str]:
    """The keys at the top, then those of each table."""
    tables = {key: value for key, value in schema["properties"].items() if "properties" in value}
    top = {key: value for key, value in schema["properties"].items() if key not in tables}
    yield _keys("At the top", {**schema, "properties": top})
    for name, table in tables.items():
        yield _keys(f"`[{name}]`", table)


def _keys(title: str, table: dict[str, Any]) -> str:
    required = table.get("required", ())
    rows = [
        (
            f"`{key}`",
            "required" if key in required else _default(value.get("default")),
            _allowed(value),
            _said(value),
        )
        for key, value in table["properties"].items()
    ]
    said = f"{_said(table)}\n\n" if title != "At the top" else ""
    return f"### {title}\n\n{said}" + _table(("key", "default", "allowed", "meaning"), rows)


def _commands() -> Iterator[str]:
    yield (
        "## Commands\n\nEach has `--help`. Exit status 0 where it went well, 1 where it failed, with the "
        "reason on standard error, 2 for a wrong command line, 130 for Ctrl-C.\n"
    )
    context = click.Context(main, info_name="semif")
    for name in COMMANDS:
        command = main.get_command(context, name)
        assert command is not None
        yield from _command(command, f"semif {name}", context)


def _command(command: click.Command, path: str, parent: click.Context) -> Iterator[str]:
    context = click.Context(command, info_name=path, parent=parent)
    if isinstance(command, click.Group):
        for name, below in command.commands.items():
            yield from _command(below, f"{path} {name}", context)
        return
    usage = " ".join([path, *command.collect_usage_pieces(context)])
    lines = [f"### `{usage}`\n\n{' '.join(command.get_short_help_str(1000).split())}\n"]
    options = [
        parameter.get_help_record(context)
        for parameter in command.params
        if isinstance(parameter, click.Option)
    ]
    rows = [(f"`{option}`", meaning) for option, meaning in filter(None, options)]
    yield "\n".join([*lines, *([_table(("option", "meaning"), rows)] if rows else [])])


def _said(schema: dict[str, Any]) -> str:
    """The description in one line, its first paragraph."""
    text = schema.get("description", "").split("\n\n")[0]
    return " ".join(text.split())


def _default(value: Any) -> str:
    if value is None:
        return "unset"
    if value == "":
        return "empty"
    return f"`{json.dumps(value) if isinstance(value, bool | list | dict) else value}`"


def _allowed(schema: dict[str, Any]) -> str:
    kind = next(iter(schema.get("anyOf", [schema])))
    values = [kind["const"]] if "const" in kind else kind.get("enum", [])
    if values:
        listed = ", ".join(f"`{json.dumps(value) if isinstance(value, bool) else value}`" for value in values)
        return listed if len(values) <= MANY else f"one of {len(values)} values"
    match kind.get("type"):
        case "integer" | "number":
            return _range(kind)
        case "array":
            return f"a list: {_allowed(kind['items'])}"
        case name:
            names = {"boolean": "`true`, `false`", "object": "a table", "path": "a path"}
            return names.get(kind.get("format", name), "a text" if name else "a value")


def _range(kind: dict[str, Any]) -> str:
    if "minimum" in kind and "maximum" in kind:
        return f"{kind['minimum']:,.16g} to {kind['maximum']:,.16g}"
    words = {
        "minimum": "at least",
        "exclusiveMinimum": "over",
        "exclusiveMaximum": "under",
        "maximum": "at most",
    }
    return (
        ", ".join(f"{word} {kind[name]:,.16g}" for name, word in words.items() if name in kind) or "a number"
    )


def _table(heads: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [heads, ("---",) * len(heads), *rows]
    return "".join("| " + " | ".join(map(_cell, line)) + " |\n" for line in lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(reference())
    sys.stderr.write(f"{PAGE}: written\n")
