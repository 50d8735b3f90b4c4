"""What a request says its body is."""

from starlette.requests import Request

from semif_adapter.errors import UnsupportedMediaTypeError


def check_media_type(request: Request) -> None:
    """Raise UnsupportedMediaTypeError unless the body is JSON in UTF-8."""
    media_type, *parameters = request.headers.get("content-type", "").split(";")
    charsets = [parameter.strip().lower().replace('"', "") for parameter in parameters]
    if media_type.strip().lower() != "application/json" or any(
        charset != "charset=utf-8" for charset in charsets
    ):
        raise UnsupportedMediaTypeError("the content type must be application/json, in UTF-8")
