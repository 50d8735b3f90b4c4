"""Runs change sets and deletions on moto's stacks: in the background, in order, with events and reasons.

Moto runs them inside the HTTP request, forgets a stack whose deletion failed, and tells no reason when a
resource fails. A failed creation is rolled back here; a failed update is not: the stack stays UPDATE_FAILED.
"""

import re
import threading
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from typing import Any

from moto.cloudformation import parsing
from moto.cloudformation.models import ChangeSet, CloudFormationBackend, Event, Stack

USUAL_SECONDS = 3.0
RETAINED = {"Retain", "RetainExceptOnCreate"}
_SUBSTITUTED = re.compile(r"\$\{([A-Za-z0-9]+)")

_Resource = dict[str, Any]


class StackFailedError(Exception):
    """A resource failed and its event has been told; the message names the resource."""


def start(backend: CloudFormationBackend, stack: Stack, change_set: ChangeSet) -> None:
    """Run a change set in the background; DescribeStacks tells how far it is."""
    steps = _create if change_set.change_set_type == "CREATE" else _update
    move(stack, f"{change_set.change_set_type}_IN_PROGRESS", "User Initiated")
    _in_background(steps, backend, stack, change_set)


def start_deletion(backend: CloudFormationBackend, stack: Stack) -> None:
    """Delete a stack in the background; one that cannot be deleted stays, as DELETE_FAILED."""
    move(stack, "DELETE_IN_PROGRESS", "User Initiated")
    _in_background(_delete, backend, stack)


def move(stack: Stack, status: str, reason: str = "") -> None:
    """Change the stack's status and tell it as an event."""
    _event(stack, stack.name, stack.stack_id, "AWS::CloudFormation::Stack", status, reason=reason)
    stack.status = status


def create_resource(
    stack: Stack, resource_map: parsing.ResourceMap, name: str, resource: _Resource, make: Callable[[], Any]
) -> Any:
    """Create one resource by calling `make`, after those of its DependsOn; raises StackFailedError.

    One that it refers to is created while `make` runs: moto's resource map makes what is asked for.
    """
    condition = resource.get("Condition")
    if condition and not resource_map.lazy_condition_map[condition]:
        return None
    for dependency in _depends_on(resource):
        resource_map[dependency]
    kind = resource["Type"]
    _event(stack, name, "", kind, "CREATE_IN_PROGRESS")
    try:
        made = make()
    except StackFailedError:
        _event(stack, name, "", kind, "CREATE_FAILED", reason="Resource creation cancelled")
        raise
    except Exception as error:
        _event(stack, name, "", kind, "CREATE_FAILED", reason=_reason(error))
        raise StackFailedError(name) from error
    _event(stack, name, made.physical_resource_id, kind, "CREATE_COMPLETE")
    return made


def _in_background(
    steps: Callable[..., None], backend: CloudFormationBackend, stack: Stack, *rest: ChangeSet
) -> None:
    """Start the steps and wait a moment: most are done at once, and the CDK asks again after five seconds."""
    thread = threading.Thread(target=_guarded, args=(steps, backend, stack, *rest), daemon=True)
    thread.start()
    thread.join(timeout=USUAL_SECONDS)


def _guarded(
    steps: Callable[..., None], backend: CloudFormationBackend, stack: Stack, *rest: ChangeSet
) -> None:
    """Whatever stops the steps ends as a status with a reason; a stack never stays IN_PROGRESS."""
    verb = stack.status.removesuffix("_IN_PROGRESS")
    try:
        steps(backend, stack, *rest)
    except StackFailedError as error:
        reason = f"The following resource(s) failed to {verb.lower()}: [{error}]."
    except Exception as error:  # noqa: BLE001 - moto raises anything, and nobody else would hear of it
        reason = _reason(error)
    else:
        return
    if verb == "CREATE":
        move(stack, "ROLLBACK_IN_PROGRESS", reason)
        _guarded(_roll_back, backend, stack)
    else:
        move(stack, f"{verb}_FAILED", reason)


def _create(backend: CloudFormationBackend, stack: Stack, change_set: ChangeSet) -> None:
    stack.template, stack.parameters = change_set.template, change_set.parameters
    stack.cross_stack_resources = backend.exports
    stack._parse_template()
    stack.description = stack.template_dict.get("Description")
    stack.resource_map = stack._create_resource_map()
    for name in _in_dependency_order(stack.resource_map._resource_json_map):
        stack.resource_map[name]
    _finish(backend, stack, "CREATE_COMPLETE")


def _roll_back(_: CloudFormationBackend, stack: Stack) -> None:
    _delete_resources(stack, list(stack.resource_map._resource_json_map), keep={"Retain"})
    move(stack, "ROLLBACK_COMPLETE")


def _update(backend: CloudFormationBackend, stack: Stack, change_set: ChangeSet) -> None:
    """Create and change in dependency order, then delete what the new template no longer has.

    A resource changes when its own text does, or when one that it refers to got another physical id.
    """
    resource_map = stack.resource_map
    old, new = resource_map._resource_json_map, change_set.template_dict["Resources"]
    changed = {
        name
        for name, value in change_set.parameters.items()
        if resource_map.resolved_parameters.get(name) != value
    }
    stack.template, stack.parameters = change_set.template, change_set.parameters
    stack._parse_template()
    resource_map._template = stack.template_dict
    resource_map.input_parameters = change_set.parameters
    resource_map._resource_json_map = {**old, **new}
    resource_map.load()
    for name in _in_dependency_order(new):
        if name not in resource_map._parsed_resources:
            resource_map[name]
        elif new[name] != old[name] or _references(new[name]) & changed:
            _update_resource(stack, name, new[name], changed)
    _delete_resources(stack, [name for name in old if name not in new], keep=RETAINED)
    resource_map._resource_json_map = new
    _finish(backend, stack, "UPDATE_COMPLETE")


def _update_resource(stack: Stack, name: str, resource: _Resource, changed: set[str]) -> None:
    resource_map, kind = stack.resource_map, resource["Type"]
    existing: Any = resource_map[name]
    before = existing.physical_resource_id
    _event(stack, name, before, kind, "UPDATE_IN_PROGRESS")
    try:
        updated: Any = parsing.parse_and_update_resource(
            name, resource, resource_map, resource_map._account_id, resource_map._region_name
        )
    except Exception as error:
        _event(stack, name, before, kind, "UPDATE_FAILED", reason=_reason(error))
        raise StackFailedError(name) from error
    if updated is None:
        _event(stack, name, before, kind, "UPDATE_FAILED", reason=f"the local AWS cannot update {kind}")
        raise StackFailedError(name)
    resource_map._parsed_resources[name] = updated
    if updated.physical_resource_id != before:
        changed.add(name)
    _event(stack, name, updated.physical_resource_id, kind, "UPDATE_COMPLETE")


def _delete(backend: CloudFormationBackend, stack: Stack) -> None:
    exports = [export.name for export in stack.exports]
    _delete_resources(stack, list(stack.resource_map._resource_json_map), keep=RETAINED)
    for name in exports:
        backend.exports.pop(name, None)
    move(stack, "DELETE_COMPLETE")
    backend.deleted_stacks[stack.stack_id] = backend.stacks.pop(stack.stack_id)


def _delete_resources(stack: Stack, names: list[str], *, keep: set[str]) -> None:
    """Delete in the reverse order of creation, which moto's map of made resources keeps."""
    resource_map = stack.resource_map
    for name in [made for made in reversed(resource_map._parsed_resources) if made in names]:
        made, resource = resource_map._parsed_resources[name], resource_map._resource_json_map[name]
        physical_id, kind = made.physical_resource_id, resource["Type"]
        if resource.get("DeletionPolicy") in keep:
            _event(stack, name, physical_id, kind, "DELETE_SKIPPED")
        else:
            _event(stack, name, physical_id, kind, "DELETE_IN_PROGRESS")
            try:
                resource_map._delete_resource(made, resource)
            except Exception as error:
                _event(stack, name, physical_id, kind, "DELETE_FAILED", reason=_reason(error))
                raise StackFailedError(name) from error
            _event(stack, name, physical_id, kind, "DELETE_COMPLETE")
        del resource_map._parsed_resources[name]


def _finish(backend: CloudFormationBackend, stack: Stack, status: str) -> None:
    """Resolve outputs and exports now: later reads must find, not make."""
    stack.output_map = stack._create_output_map()
    list(stack.output_map.values())
    for export in stack.exports:
        backend.exports[export.name] = export
    move(stack, status)


def _in_dependency_order(resources: Mapping[str, _Resource]) -> Iterator[str]:
    done: set[str] = set()

    def visit(name: str) -> Iterator[str]:
        if name in done or name not in resources:
            return
        done.add(name)
        for dependency in sorted(_references(resources[name])):
            yield from visit(dependency)
        yield name

    for name in resources:
        yield from visit(name)


def _references(node: object) -> set[str]:
    """The names that a piece of template refers to: resources, parameters and pseudo parameters."""
    if isinstance(node, list):
        return set().union(*map(_references, node))
    if not isinstance(node, dict):
        return set()
    names = set(_depends_on(node))
    for key, value in node.items():
        if key == "Ref":
            names.add(value)
        elif key == "Fn::GetAtt":
            names.add((value if isinstance(value, list) else value.split("."))[0])
        elif key == "Fn::Sub":
            names.update(_SUBSTITUTED.findall(value if isinstance(value, str) else value[0]))
        if key != "DependsOn":
            names |= _references(value)
    return names


def _depends_on(resource: _Resource) -> list[str]:
    names = resource.get("DependsOn", [])
    return [names] if isinstance(names, str) else list(names)


def _event(stack: Stack, name: str, physical_id: str, kind: str, status: str, *, reason: str = "") -> None:
    event = Event(stack.stack_id, stack.name, name, physical_id, kind, status, reason or None, None)
    if stack.events:  # readers sort by time, which is told in milliseconds
        event.timestamp = max(event.timestamp, stack.events[-1].timestamp + timedelta(milliseconds=1))
    stack.events.append(event)


def _reason(error: Exception) -> str:
    """What people read in the stack's events; an error without a text is told by its type."""
    text = str(error)
    return text if text and not isinstance(error, KeyError) else f"{type(error).__name__}: {text}"
