"""Data capture of realtime endpoints: requests and replies as JSON Lines in S3, in SageMaker's form.

SageMaker collects events for some minutes into a file; here each has a file of its own, at once. What a line
holds is from "Capture data from real-time endpoint" in SageMaker's developer guide and published examples.
"""

import base64
import json
import random
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from local_aws.core.api import Params
from local_aws.core.context import LocalContext
from local_aws.core.s3_address import bucket_and_key
from local_aws.sagemaker.hosts.host import ContainerReply

_chance = random.Random()  # noqa: S311 - a sample needs no secrecy


@dataclass(frozen=True)
class DataCapture:
    """What is captured of one variant of one endpoint. `config` is the DataCaptureConfig."""

    context: LocalContext
    endpoint: str
    variant: str
    config: Params

    def record(self, body: bytes, headers: dict[str, str], reply: ContainerReply) -> None:
        """Put an answered request into S3, or not: a share of them is captured."""
        if not self.config.get("EnableCapture", True):
            return
        if _chance.random() * 100 >= self.config["InitialSamplingPercentage"]:
            return
        now = datetime.now(UTC)
        metadata = {"eventId": str(uuid.uuid4()), "inferenceTime": now.strftime("%Y-%m-%dT%H:%M:%SZ")}
        if inference_id := headers.get("X-Amzn-SageMaker-Inference-Id"):
            metadata["inferenceId"] = inference_id
        line = {
            "captureData": self._data(body, headers, reply),
            "eventMetadata": metadata,
            "eventVersion": "0",
        }
        bucket, key = bucket_and_key(self.config["DestinationS3Uri"])
        folder = "/".join(part for part in (key.strip("/"), self.endpoint, self.variant) if part)
        self.context.s3.put_object(
            Bucket=bucket,
            Key=f"{folder}/{now:%Y/%m/%d/%H}/{now:%M-%S-%f}-{metadata['eventId']}.jsonl",
            Body=json.dumps(line).encode() + b"\n",
        )

    def _data(self, body: bytes, headers: dict[str, str], reply: ContainerReply) -> Params:
        modes = {option["CaptureMode"] for option in self.config["CaptureOptions"]}
        data = {}
        if modes & {"Input", "InputAndOutput"}:
            data["endpointInput"] = self._side(body, headers.get("Content-Type", ""), "INPUT")
        if modes & {"Output", "InputAndOutput"}:
            data["endpointOutput"] = self._side(reply.body, reply.content_type, "OUTPUT")
        return data

    def _side(self, content: bytes, content_type: str, mode: str) -> dict[str, Any]:
        header: Params = self.config.get("CaptureContentTypeHeader", {})
        media_type = content_type.partition(";")[0].strip()
        kinds = {"JSON": "JsonContentTypes", "CSV": "CsvContentTypes"}
        encoding = next(
            (name for name, member in kinds.items() if media_type in header.get(member, [])), "BASE64"
        )
        data = (
            base64.b64encode(content).decode() if encoding == "BASE64" else content.decode(errors="replace")
        )
        return {"observedContentType": content_type, "mode": mode, "data": data, "encoding": encoding}
