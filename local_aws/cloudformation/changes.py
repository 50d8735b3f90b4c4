"""Runs change sets and deletions on moto's stacks: in the background, in order, with events and reasons.

Moto runs them inside the HTTP request, forgets a stack whose deletion failed, and tells no reason when a
resource fails. A creation or an update that fails is rolled back here.
"""

import threading
from collections.abc import Callable
from typing import Any

from moto.cloudformation import parsing
from moto.cloudformation.exceptions import ValidationError
from moto.cloudformation.models import ChangeSet, CloudFormationBackend, Stack

from local_aws.cloudformation.deletion import RETAINED, delete_resources
from local_aws.cloudformation.dependencies import TemplateResource, depends_on, in_dependency_order
from local_aws.cloudformation.stack_events import StackFailedError, begin, move, reason_of, tell
from local_aws.cloudformation.updates import Update

USUAL_SECONDS = 3.0

_updates: dict[str, Update] = {}
"""The last update of each stack, by the stack's id."""


def start(backend: CloudFormationBackend, stack: Stack, change_set: ChangeSet) -> None:
    """Run a change set in the background; DescribeStacks tells how far it is."""
    creates = change_set.change_set_type == "CREATE"
    if not creates:
        _updates[stack.stack_id] = Update(stack, change_set)
    begin(stack, f"{change_set.change_set_type}_IN_PROGRESS")
    _in_background(_create if creates else _update, backend, stack, change_set)


def cancel_update(stack: Stack) -> None:
    """Have an update end, and go back. Raises ValidationError where none is going on."""
    if stack.status != "UPDATE_IN_PROGRESS":
        raise ValidationError(
            message=f"CancelUpdateStack cannot be called from current stack status: {stack.status}"
        )
    _updates[stack.stack_id].cancelled.set()


def start_deletion(backend: CloudFormationBackend, stack: Stack) -> None:
    """Delete a stack in the background; one that cannot be deleted stays, as DELETE_FAILED."""
    begin(stack, "DELETE_IN_PROGRESS")
    _in_background(_delete, backend, stack)


def create_resource(
    stack: Stack,
    resource_map: parsing.ResourceMap,
    name: str,
    resource: TemplateResource,
    make: Callable[[], Any],
) -> Any:
    """Create one resource by calling `make`, after those of its DependsOn; raises StackFailedError.

    One that it refers to is created while `make` runs: moto's resource map makes what is asked for.
    """
    condition = resource.get("Condition")
    if condition and not resource_map.lazy_condition_map[condition]:
        return None
    for dependency in depends_on(resource):
        resource_map[dependency]
    kind = resource["Type"]
    tell(stack, name, "", kind, "CREATE_IN_PROGRESS")
    try:
        made = make()
    except StackFailedError:
        tell(stack, name, "", kind, "CREATE_FAILED", reason="Resource creation cancelled")
        raise
    except Exception as error:
        tell(stack, name, "", kind, "CREATE_FAILED", reason=reason_of(error))
        raise StackFailedError(name) from error
    tell(stack, name, made.physical_resource_id, kind, "CREATE_COMPLETE")
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
    try:
        steps(backend, stack, *rest)
    except Exception as error:  # noqa: BLE001 - moto raises anything, and nobody else would hear of it
        verb = stack.status.removesuffix("_IN_PROGRESS")
        reason = _why("create" if verb == "CREATE" else "delete" if verb == "DELETE" else "roll back", error)
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
    for name in in_dependency_order(stack.resource_map._resource_json_map):
        stack.resource_map[name]
    _resolve_outputs(backend, stack)
    move(stack, "CREATE_COMPLETE")


def _roll_back(_: CloudFormationBackend, stack: Stack) -> None:
    delete_resources(stack, list(stack.resource_map._resource_json_map), keep={"Retain"})
    move(stack, "ROLLBACK_COMPLETE")


def _update(backend: CloudFormationBackend, stack: Stack, _: ChangeSet) -> None:
    update = _updates[stack.stack_id]
    try:
        update.apply()
        _resolve_outputs(backend, stack)
    except Exception as error:  # noqa: BLE001 - moto raises anything, and all of it leads back
        move(stack, "UPDATE_ROLLBACK_IN_PROGRESS", _why("update", error))
        update.undo()
        _resolve_outputs(backend, stack)
        move(stack, "UPDATE_ROLLBACK_COMPLETE")
        return
    move(stack, "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS")
    update.clean_up()
    move(stack, "UPDATE_COMPLETE")


def _delete(backend: CloudFormationBackend, stack: Stack) -> None:
    exports = [export.name for export in stack.exports]
    delete_resources(stack, list(stack.resource_map._resource_json_map), keep=RETAINED)
    for name in exports:
        backend.exports.pop(name, None)
    move(stack, "DELETE_COMPLETE")
    backend.deleted_stacks[stack.stack_id] = backend.stacks.pop(stack.stack_id)


def _resolve_outputs(backend: CloudFormationBackend, stack: Stack) -> None:
    """Resolve outputs and exports now: later reads must find, not make."""
    stack.output_map = stack._create_output_map()
    list(stack.output_map.values())
    for export in stack.exports:
        backend.exports[export.name] = export


def _why(verb: str, error: Exception) -> str:
    if isinstance(error, StackFailedError):
        return f"The following resource(s) failed to {verb}: [{error}]."
    return reason_of(error)
