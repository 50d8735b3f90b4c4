"""Keys of the file that name a kind or a mode; which there are is known where these are registered."""

from collections.abc import Collection
from typing import Annotated

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticKnownError
from pydantic_core.core_schema import no_info_plain_validator_function


class RegisteredNames:
    """Has a key of the file hold one of the names in `registry`, as that is when the file is checked.

    A registry lies above the tables whose keys name its entries, so it puts itself here.
    """

    registry: Collection[str] = ()

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return no_info_plain_validator_function(self._check)

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return {"enum": list(self.registry), "type": "string"}

    def _check(self, value: object) -> str:
        if isinstance(value, str) and value in self.registry:
            return value
        *others, last = [repr(name) for name in self.registry]
        raise PydanticKnownError(
            "literal_error", {"expected": " or ".join(filter(None, [", ".join(others), last]))}
        )


KIND_NAMES, MODE_NAMES = RegisteredNames(), RegisteredNames()
KindName = Annotated[str, KIND_NAMES]
"""What answers: our adapter with decisions, or the published container with chat completions (kinds/)."""
ModeName = Annotated[str, MODE_NAMES]
"""How it is asked: by calls that wait, by a queue, or by transform jobs over files (modes/)."""
