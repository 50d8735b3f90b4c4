"""Types whose fields are described by the docstrings below them, read where a schema is asked for.

pydantic's own way, `use_attribute_docstrings`, parses the source of every class when it is imported: a
seventh of the CPU time of a start of the adapter or of a command, few of which show a schema.
"""

import ast
import inspect
import sys
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

from pydantic import BaseModel

if TYPE_CHECKING:
    from pydantic import GetJsonSchemaHandler
    from pydantic.json_schema import JsonSchemaValue
    from pydantic_core import CoreSchema


class DescribedModel(BaseModel):
    """Base of a type that somebody reads the schema of."""

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: "CoreSchema", handler: "GetJsonSchemaHandler"
    ) -> "JsonSchemaValue":
        """The schema, each property with its field's docstring where nothing else describes it."""
        schema = handler(core_schema)
        properties = handler.resolve_ref_schema(schema).get("properties", {})
        texts = {name: text for each in reversed(cls.__mro__) for name, text in _docstrings_of(each).items()}
        for name, field in cls.model_fields.items():
            described = properties.get(field.alias or name)
            if described is not None and name in texts:
                described.setdefault("description", texts[name])
        return schema


def _docstrings_of(model: type) -> dict[str, str]:
    return (
        _docstrings(model.__module__).get(model.__qualname__, {}) if issubclass(model, DescribedModel) else {}
    )


@cache
def _docstrings(module: str) -> dict[str, dict[str, str]]:
    """Of each class at the top of `module`: the name of a field, and the docstring below it."""
    tree = ast.parse(inspect.getsource(sys.modules[module]))
    return {
        node.name: dict(filter(None, map(_documented, pairwise(node.body))))
        for node in tree.body
        if isinstance(node, ast.ClassDef)
    }


def _documented(statements: tuple[ast.stmt, ast.stmt]) -> tuple[str, str] | None:
    match statements:
        case (
            ast.AnnAssign(target=ast.Name(id=name)),
            ast.Expr(value=ast.Constant(value=str(text))),
        ):
            return name, inspect.cleandoc(text)
    return None
