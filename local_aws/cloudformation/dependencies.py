"""Which resources of a template refer to which others."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

_SUBSTITUTED = re.compile(r"\$\{([A-Za-z0-9]+)")

TemplateResource = dict[str, Any]
"""One entry of a template's Resources."""


def in_dependency_order(resources: Mapping[str, TemplateResource]) -> Iterator[str]:
    """The names of `resources`, each after those that it refers to."""
    done: set[str] = set()

    def visit(name: str) -> Iterator[str]:
        if name in done or name not in resources:
            return
        done.add(name)
        for dependency in sorted(references(resources[name])):
            yield from visit(dependency)
        yield name

    for name in resources:
        yield from visit(name)


def references(node: object) -> set[str]:
    """The names that a piece of template refers to: resources, parameters and pseudo parameters."""
    if isinstance(node, list):
        return set().union(*map(references, node))
    if not isinstance(node, dict):
        return set()
    names = set(depends_on(node))
    for key, value in node.items():
        if key == "Ref":
            names.add(value)
        elif key == "Fn::GetAtt":
            names.add((value if isinstance(value, list) else value.split("."))[0])
        elif key == "Fn::Sub":
            names.update(_SUBSTITUTED.findall(value if isinstance(value, str) else value[0]))
        if key != "DependsOn":
            names |= references(value)
    return names


def depends_on(resource: TemplateResource) -> list[str]:
    """The names of its DependsOn."""
    names = resource.get("DependsOn", [])
    return [names] if isinstance(names, str) else list(names)
