"""Deletes the resources of a stack, as their DeletionPolicy says."""

from typing import Any

from moto.cloudformation.models import Stack

from local_aws.cloudformation.dependencies import TemplateResource
from local_aws.cloudformation.stack_events import StackFailedError, reason_of, tell

RETAINED = {"Retain", "RetainExceptOnCreate"}


def delete_resources(stack: Stack, names: list[str], *, keep: set[str]) -> None:
    """Delete in the reverse order of creation, which moto's map of made resources keeps.

    Those whose DeletionPolicy is in `keep` stay. Raises StackFailedError at the first that cannot be deleted.
    """
    resource_map = stack.resource_map
    for name in [made for made in reversed(resource_map._parsed_resources) if made in names]:
        made, resource = resource_map._parsed_resources[name], resource_map._resource_json_map[name]
        if resource.get("DeletionPolicy") in keep:
            tell(stack, name, made.physical_resource_id, resource["Type"], "DELETE_SKIPPED")
        else:
            delete_one(stack, name, made, resource)
        del resource_map._parsed_resources[name]


def delete_one(stack: Stack, name: str, made: Any, resource: TemplateResource) -> None:
    """Delete what was `made` for `resource`, with events. Raises StackFailedError."""
    physical_id, kind = made.physical_resource_id, resource["Type"]
    tell(stack, name, physical_id, kind, "DELETE_IN_PROGRESS")
    try:
        stack.resource_map._delete_resource(made, resource)
    except Exception as error:
        tell(stack, name, physical_id, kind, "DELETE_FAILED", reason=reason_of(error))
        raise StackFailedError(name) from error
    tell(stack, name, physical_id, kind, "DELETE_COMPLETE")
