"""The API key, where one is set: behind SageMaker none is needed, IAM stands in front."""

import hmac
from collections.abc import Sequence

from pydantic import SecretStr
from starlette.requests import Request

from semif_adapter.contract.errors import AuthenticationError


def check_key(request: Request, keys: Sequence[SecretStr]) -> None:
    """Raise AuthenticationError unless `request` has one of `keys` as its token; without any all pass."""
    if not keys:
        return
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer":
        raise AuthenticationError("an API key is needed, send the header Authorization: Bearer and the key")
    sent = token.strip().encode("latin-1")
    if not any(hmac.compare_digest(sent, key.get_secret_value().encode()) for key in keys):
        raise AuthenticationError("the API key is not the right one")
