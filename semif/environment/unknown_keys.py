"""Keys and values of an environment file that are none where they stand: what was meant, where that shows."""

from collections.abc import Sequence
from difflib import get_close_matches
from functools import cache
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError

from semif.environment.environment_file import EnvironmentFile
from semif.environment.problems import FIXED_SETTINGS
from semif.environment.tables.names import RegisteredNames
from semif.errors import MAX_SHOWN, UNKNOWN_KEY
from semif_adapter.contract.settings import SECRET

_NEVER_IN_THE_FILE = {"": {"name"}, "adapter": {*FIXED_SETTINGS, *SECRET}}
"""By table, what the types have and no file may set; the empty name is the file's top."""
_NEARNESS = 0.75
"""difflib's ratio: one letter more, less or other of four, and not a word that shares half of its letters."""


def unknown_key(path: Sequence[int | str]) -> PydanticCustomError | None:
    """The error that says what the unknown key at `path` was meant to be; None where nothing is near it.

    A key of exactly one other table belongs there; else it is one of its own table, misspelt.
    """
    *above, key = map(str, path)
    own, known = ".".join(above), _keys_by_table()
    elsewhere = [table for table, keys in known.items() if key in keys]
    if len(elsewhere) == 1:
        place = f"in [{elsewhere[0]}]" if elsewhere[0] else "at the top of the file, above all tables"
        return _error("is not a known key here, it belongs {place}", place=place)
    near = get_close_matches(key[:MAX_SHOWN], known.get(own, ()), n=1, cutoff=_NEARNESS)
    if not near:
        return None
    meant = f"[{near[0]}]" if not own and near[0] in known else near[0]
    return _error("is not a known key, did you mean {meant}?", meant=meant)


def value_of_another(path: Sequence[int | str], value: object, expected: str) -> PydanticCustomError | None:
    """The error that says which table has a key of this name with this value; None where none has."""
    *above, key = map(str, path)
    for table, fields in _tables().items():
        field = fields.get(key)
        if field is not None and table != ".".join(above) and value in _choices(field):
            place = f"{table}.{key}" if table else key
            return PydanticCustomError(
                "literal_error",
                "must be {expected}; {value} is a value of {place}, write it there",
                {"expected": expected, "value": repr(value), "place": place},
            )
    return None


def _error(message: str, **named: str) -> PydanticCustomError:
    return PydanticCustomError(UNKNOWN_KEY, message, named)


@cache
def _keys_by_table() -> dict[str, list[str]]:
    """The keys that each table may have in a file, the file's top first, under the empty name."""
    return {table: list(fields) for table, fields in _tables().items()}


@cache
def _tables() -> dict[str, dict[str, FieldInfo]]:
    """The same, with what each key may hold."""
    known = {"": _fields_of("", EnvironmentFile)}
    for name, field in EnvironmentFile.model_fields.items():
        table, key = _table_in(field.annotation), field.alias or name
        if table is not None:
            known[key] = _fields_of(key, table)
        elif get_origin(field.annotation) is dict:  # a table whose keys are the user's own
            known[key] = {}
    return known


def _fields_of(name: str, table: type[BaseModel]) -> dict[str, FieldInfo]:
    fields = {(field.alias or key): field for key, field in table.model_fields.items()}
    return {key: field for key, field in fields.items() if key not in _NEVER_IN_THE_FILE.get(name, ())}


def _choices(field: FieldInfo) -> Sequence[object]:
    """The values of a key that holds one of few."""
    if get_origin(field.annotation) is Literal:
        return get_args(field.annotation)
    registered = [names for names in field.metadata if isinstance(names, RegisteredNames)]
    return [name for names in registered for name in names.registry]


def _table_in(annotation: Any) -> type[BaseModel] | None:
    """The table of a key that may hold one: `Table`, or `Table | None`."""
    for kind in (annotation, *get_args(annotation)):
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            return kind
    return None
