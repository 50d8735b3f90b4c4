"""What moto imports and nothing here needs: two thirds of the time of a start."""

import sys
from typing import Any

from moto.utilities import utils

_INSTANCE_TYPES = "ec2/resources/instance_type"
"""What the files begin with in which EC2's instance types are, and the regions that offer them."""


def leave_out() -> None:
    """Have moto start without it; to be called before its services are imported.

    EC2's networks are used here and none of its machines, whose types take half a second to read. jsonschema
    compiles a grammar of addresses in all languages (`rfc3987_syntax`), where that is installed: 1.5 seconds.
    """
    sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]  # how an import is made to fail
    read = utils.load_resource

    def load_resource(resource: str) -> Any:
        return {} if resource.startswith(_INSTANCE_TYPES) else read(resource)

    utils.load_resource = load_resource
