"""Reading the raw tables of a file, in which anything may be wrong: what is of no use here is left out.

A wrong type is reported by the table itself, so that nothing more needs to be said of it.
"""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

RawTables = Mapping[str, Any]
"""The file as TOML has it."""


def table_in(tables: RawTables, key: str) -> Mapping[str, Any]:
    """The table `key`; an empty one where there is none."""
    value = tables.get(key)
    return value if isinstance(value, Mapping) else {}


def typed_in(table: Mapping[str, Any], key: str, wanted: type) -> Any:
    """The value of `key` where it is of the type `wanted`, else None."""
    value = table.get(key)
    return value if isinstance(value, wanted) and not isinstance(value, bool) else None


def number_in(table: Mapping[str, Any], key: str, default: Any) -> Any:
    """The number that `key` has, else `default`."""
    value = table.get(key)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if is_number else default


def default_of(table: type[BaseModel], key: str) -> Any:
    """What `key` of a table is where the file does not say it."""
    return table.model_fields[key].default


def instance_types_in(tables: RawTables) -> list[str]:
    """The instance types that [endpoint] names, rightly or not: those of the pool, and the one."""
    endpoint = table_in(tables, "endpoint")
    pool = typed_in(endpoint, "instance_pool", list) or ()
    one = typed_in(endpoint, "instance_type", str)
    return [*(item for item in pool if isinstance(item, str)), *filter(None, [one])]
