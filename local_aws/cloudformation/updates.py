"""One update of a stack: what changes, what is replaced, what goes, and the way back where something fails.

As CloudFormation does it: new and changed resources first, in the order of their references; what was
replaced or is in the template no more is deleted at the very end, so that until then all can be put back.
"""

import threading
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from moto.cloudformation import parsing
from moto.cloudformation.models import ChangeSet, Stack

from local_aws.cloudformation.deletion import RETAINED, delete_one, delete_resources
from local_aws.cloudformation.dependencies import TemplateResource, in_dependency_order, references
from local_aws.cloudformation.resource_types import Resource
from local_aws.cloudformation.stack_events import StackFailedError, reason_of, tell


class CancelledError(Exception):
    """Somebody has cancelled the update."""


@dataclass
class Update:
    """The update of `stack` to what `change_set` says; `apply`, then `clean_up` or `undo`."""

    stack: Stack
    change_set: ChangeSet
    cancelled: threading.Event = field(default_factory=threading.Event)
    """Set by who wants it to end: it is noticed after the resource that is being changed."""
    _before: tuple[Any, dict[str, str]] = field(init=False)
    """The template and the parameters."""
    _old: dict[str, TemplateResource] = field(init=False)
    _new: dict[str, TemplateResource] = field(init=False)
    _created: list[str] = field(default_factory=list)
    _updated: list[str] = field(default_factory=list)
    _replaced: dict[str, Any] = field(default_factory=dict)
    """What stood in the place of a resource before."""

    def __post_init__(self) -> None:
        """Note how the stack is before."""
        self._before = self.stack.template, self.stack.parameters
        self._old = self.stack.resource_map._resource_json_map
        self._new = self.change_set.template_dict["Resources"]

    def apply(self) -> None:
        """Create and change in dependency order.

        A resource changes when its properties do, or when one that they refer to got another physical id.
        Raises StackFailedError, CancelledError, and what moto raises.
        """
        resource_map, parameters = self.stack.resource_map, self.change_set.parameters
        before = given_parameters(self.stack)
        changed = {name for name, value in parameters.items() if before.get(name) != value}
        self._say(self.change_set.template, parameters, {**self._old, **self._new})
        for name in in_dependency_order(self._new):
            resource = self._new[name]
            if resource_map._parsed_resources.get(name) is None:
                if resource_map[name] is not None:  # None: its condition does not hold
                    self._created.append(name)
            elif self._differs(name) or references(resource.get("Properties")) & changed:
                changed |= self._change(name, resource)
            if self.cancelled.is_set():
                raise CancelledError("the update was cancelled")

    def clean_up(self) -> None:
        """Delete what was replaced, and what the new template no longer has.

        A deletion that fails is told as an event and keeps nothing back ("Update behaviors of stack
        resources" and "Stack status codes", CloudFormation's user guide, read 2026-11-30).
        """
        for name, made in reversed(self._replaced.items()):
            with suppress(StackFailedError):
                delete_one(self.stack, name, made, self._old[name])
        resource_map = self.stack.resource_map
        gone = self._old.keys() - self._new.keys()
        for name in [made for made in reversed(resource_map._parsed_resources) if made in gone]:
            with suppress(StackFailedError):
                delete_resources(self.stack, [name], keep=RETAINED)
            resource_map._parsed_resources.pop(name, None)
        resource_map._resource_json_map = self._new

    def undo(self) -> None:
        """Put back what changed, then delete what is new. Raises StackFailedError for what cannot be."""
        resource_map = self.stack.resource_map
        self._say(*self._before, {**self._new, **self._old})
        new = {name: resource_map._parsed_resources[name] for name in self._replaced}
        resource_map._parsed_resources.update(self._replaced)
        for name in [name for name in in_dependency_order(self._old) if name in self._updated]:
            self._change(name, self._old[name])
        for name, made in reversed(new.items()):
            delete_one(self.stack, name, made, self._new[name])
        delete_resources(self.stack, self._created, keep=set())
        resource_map._resource_json_map = self._old

    def _say(self, template: Any, parameters: dict[str, str], resources: dict[str, TemplateResource]) -> None:
        stack = self.stack
        stack.template, stack.parameters = template, parameters
        stack._parse_template()
        stack.resource_map._template = stack.template_dict
        stack.resource_map.input_parameters = parameters
        stack.resource_map._resource_json_map = resources
        stack.resource_map.load()

    def _differs(self, name: str) -> bool:
        return bool(self._new[name].get("Properties") != self._old[name].get("Properties"))

    def _change(self, name: str, resource: TemplateResource) -> set[str]:
        """Update `name`, or replace it; holds the name where it got another physical id."""
        stack, resource_map, kind = self.stack, self.stack.resource_map, resource["Type"]
        existing: Any = resource_map[name]
        before = existing.physical_resource_id
        tell(stack, name, before, kind, "UPDATE_IN_PROGRESS")
        try:
            updated: Any = parsing.parse_and_update_resource(
                name, resource, resource_map, resource_map._account_id, resource_map._region_name
            )
        except Exception as error:
            tell(stack, name, before, kind, "UPDATE_FAILED", reason=reason_of(error))
            raise StackFailedError(name) from error
        if updated is None:
            tell(stack, name, before, kind, "UPDATE_FAILED", reason=f"the local AWS cannot update {kind}")
            raise StackFailedError(name)
        if isinstance(updated, Resource) and updated.is_replacement:
            self._replaced[name] = existing
        else:
            self._updated.append(name)
        resource_map._parsed_resources[name] = updated
        tell(stack, name, updated.physical_resource_id, kind, "UPDATE_COMPLETE")
        return {name} if updated.physical_resource_id != before else set()


def given_parameters(stack: Stack) -> dict[str, Any]:
    """A stack's parameters as they were given or are by default: the names of SSM's, not what these hold."""
    declared = stack.template_dict.get("Parameters", {})
    return {name: stack.parameters.get(name, one.get("Default")) for name, one in declared.items()}
