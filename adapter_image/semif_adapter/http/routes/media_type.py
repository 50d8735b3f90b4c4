"""What a request says its body is."""

from collections.abc import Collection

from starlette.requests import Request

from semif_adapter.contract.errors import UnsupportedMediaTypeError

JSON = "application/json"


def check_media_type(request: Request, allowed: Collection[str] = (JSON,)) -> str:
    """The body's media type. Raises UnsupportedMediaTypeError unless it is one of `allowed`, in UTF-8."""
    media_type, *parameters = request.headers.get("content-type", "").split(";")
    charsets = [said.lower().replace('"', "") for parameter in parameters if (said := parameter.strip())]
    media_type = media_type.strip().lower()
    if media_type not in allowed or any(charset != "charset=utf-8" for charset in charsets):
        raise UnsupportedMediaTypeError(f"the content type must be {' or '.join(allowed)}, in UTF-8")
    return media_type
