"""docs/sagemaker-sdk.md: its program runs, by the SDK's own client, over HTTP, to a real adapter."""

import re
from typing import Any

import pytest
from botocore.exceptions import ClientError

from semif.project.root import project_root
from tests.support.servers.sagemaker_stand_in import StandIn

PAGE = (project_root() / "docs" / "sagemaker-sdk.md").read_text()


def test_the_program_runs_and_a_refusal_is_a_model_error(
    adapter_url: str, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Here, since each worker collects every file: they take five CPU seconds.
    from sagemaker.core.resources import Endpoint  # noqa: PLC0415
    from sagemaker.core.utils.utils import SageMakerClient  # noqa: PLC0415

    (program,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    stand_in.behind = adapter_url
    for name, value in {
        "AWS_ENDPOINT_URL_SAGEMAKER_RUNTIME": stand_in.url,
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    SageMakerClient.reset()
    names: dict[str, Any] = {}
    try:
        exec(program, names)
        assert names["result"]["option_ids"] == ["billing", "shipping"]
        assert sum(names["result"]["probabilities"]) == pytest.approx(1)
        with pytest.raises(ClientError) as told:
            Endpoint(endpoint_name="semif-dev").invoke(body=b"{}", content_type="application/json")
    finally:
        SageMakerClient.reset()
    assert told.value.response["Error"]["Code"] == "ModelError"
    assert told.value.response["OriginalStatusCode"] == 400
