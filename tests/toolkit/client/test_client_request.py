"""What a request in a file may be, before it is sent."""

import pytest

from semif.client.request import request_body
from semif.errors import SemifError
from semif_adapter.contract.wire import MAX_BODY_BYTES
from semif_adapter.forms.invocations import FORMS


@pytest.mark.parametrize("form", FORMS)
def test_a_request_is_sent_as_it_was_written(form: str) -> None:
    text = f'{{ "{form}":  null }}'.encode()
    assert request_body(text, name="file") == text


def test_a_lone_decision_is_wrapped_and_not_rewritten() -> None:
    doubled = b'{"id": "a", "id": "b", "state": "\\u00e9"}'
    assert request_body(doubled, name="file") == b'{"decision": ' + doubled + b"}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "file is not JSON"),
        (b"{", "^file is not JSON, see column 2$"),
        (b'{\n "a"', "^file is not JSON, see line 2 column 5$"),
        (b"\xff", "file is not UTF-8"),
        (b"[" * 100_000, "file is nested too deeply"),
        (b"[]", "file holds an array, a request is an object"),
        (b'"' + b"a" * 10 + b'"', "file holds a string"),
        (b"1.5", "file holds a number"),
        (b"true", "file holds true or false"),
        (b"null", "file holds null"),
        (b'{"id": "' + b"a" * MAX_BODY_BYTES + b'"}', f"SageMaker takes {MAX_BODY_BYTES}"),
    ],
)
def test_what_cannot_be_a_request_is_not_sent(text: bytes, message: str) -> None:
    with pytest.raises(SemifError, match=message):
        request_body(text, name="file")
