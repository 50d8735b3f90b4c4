"""The API key, where one is set: behind SageMaker none is needed, IAM stands in front."""

import hmac

from pydantic import SecretStr
from starlette.requests import Request

from semif_adapter.contract.errors import AuthenticationError


def check_key(request: Request, key: SecretStr | None) -> None:
    """Raise AuthenticationError unless `request` has `key` as its Bearer token; without one all pass."""
    if key is None:
        return
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer":
        raise AuthenticationError("an API key is needed, send the header Authorization: Bearer and the key")
    if not hmac.compare_digest(token.strip().encode("latin-1"), key.get_secret_value().encode()):
        raise AuthenticationError("the API key is not the right one")
