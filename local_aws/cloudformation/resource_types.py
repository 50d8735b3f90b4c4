"""What a CloudFormation resource type is here, in the form that moto asks for."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from local_aws.core.api import Params

MAX_NAME = 63
"""SageMaker's longest name; CloudFormation cuts the names that it makes up."""


class ResourceFailedError(Exception):
    """A resource could not be created, updated or deleted; the message is the stack event's reason."""


@dataclass(frozen=True)
class Created:
    """What CloudFormation keeps of a resource: what `Ref` and `Fn::GetAtt` return."""

    physical_id: str
    attributes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ResourceType:
    """How one type is made and deleted. Without `update` a change makes a new one, and the old one
    is deleted once the whole stack is updated; with it, a change of what identifies it does so."""

    name: str
    create: Callable[[str, Params], Created]
    delete: Callable[[Created], None]
    name_property: str = ""
    attributes: tuple[str, ...] = ()
    update: Callable[[Created, Params], Created] | None = None
    further_identity: tuple[str, ...] = ()
    """Properties beside the name whose change is a replacement: "createOnlyProperties" of the type's schema
    in CloudFormation's registry, as cfn-lint 1.58.0 has it, read 2026-12-01."""

    def is_another(self, before: Params, after: Params) -> bool:
        """Whether a resource of these properties is another one than that of those `before`."""
        identity = filter(None, (self.name_property, *self.further_identity))
        return any(before.get(key) != after.get(key) for key in identity)


class Resource:
    """A resource of a stack, with the methods that moto's CloudFormation asks of its models."""

    definition: ClassVar[ResourceType]
    logical_resource_id: str
    cf_resource_type: str

    def __init__(self, created: Created, properties: Params, *, is_replacement: bool = False) -> None:
        self.created = created
        self.properties = properties
        """As it was made or last updated with, resolved."""
        self.is_replacement = is_replacement
        """Whether it was made beside an older one, which whoever updates the stack deletes at the end."""

    @property
    def physical_resource_id(self) -> str:
        """What `Ref` returns."""
        return self.created.physical_id

    def get_cfn_attribute(self, attribute: str) -> str:
        """What `Fn::GetAtt` returns; KeyError for an attribute that the type does not have."""
        return self.created.attributes[attribute]

    def is_created(self) -> bool:
        """Creation has returned, so it is."""
        return True

    def delete(self, *_: str) -> None:
        """Delete the resource."""
        self.definition.delete(self.created)

    @classmethod
    def cloudformation_type(cls) -> str:
        """The type's name."""
        return cls.definition.name

    @classmethod
    def cloudformation_name_type(cls) -> str:
        """The property that holds the resource's name, or nothing."""
        return cls.definition.name_property

    @classmethod
    def has_cfn_attr(cls, attribute: str) -> bool:
        """Whether `Fn::GetAtt` knows the attribute."""
        return attribute in cls.definition.attributes

    @classmethod
    def create_from_cloudformation_json(
        cls, resource_name: str, cloudformation_json: Params, *_: str, **__: str
    ) -> "Resource":
        """Create the resource from its resolved properties."""
        properties = cloudformation_json.get("Properties", {})
        return cls(cls.definition.create(_fitting(resource_name), properties), properties)

    @classmethod
    def update_from_cloudformation_json(
        cls,
        original_resource: "Resource",
        new_resource_name: str,
        cloudformation_json: Params,
        *_: str,
        **__: str,
    ) -> "Resource":
        """Update in place where the type can and it stays the same, else make the new one beside the old."""
        properties, update = cloudformation_json["Properties"], cls.definition.update
        if update is None or cls.definition.is_another(original_resource.properties, properties):
            made = cls.definition.create(_fitting(new_resource_name), properties)
            return cls(made, properties, is_replacement=True)
        return cls(update(original_resource.created, properties), properties)


def _fitting(name: str) -> str:
    return name if len(name) <= MAX_NAME else f"{name[:49]}-{name[-13:]}".replace("--", "-")
