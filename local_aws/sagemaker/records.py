"""SageMaker's records: Models and EndpointConfigs, kept as they were created and never changed."""

import threading
from datetime import UTC, datetime
from typing import Any

from local_aws.core.api import ApiError, Operation, Params
from local_aws.core.context import LocalContext


class SageMakerRecords:
    """The operations on Models and EndpointConfigs, under botocore's names and shapes."""

    def __init__(self, context: LocalContext) -> None:
        self._models = Records(context, "Model", "model", "Could not find model")
        self._configs = Records(
            context, "EndpointConfig", "endpoint-config", "Could not find endpoint configuration"
        )

    def operations(self) -> dict[str, Operation]:
        """Every operation on the records that is served here instead of in moto."""
        return {
            "CreateModel": self._models.create,
            "DescribeModel": self._models.describe,
            "DeleteModel": self._models.delete,
            "ListModels": self._models.list,
            "CreateEndpointConfig": self.create_endpoint_config,
            "DescribeEndpointConfig": self._configs.describe,
            "DeleteEndpointConfig": self._configs.delete,
            "ListEndpointConfigs": self._configs.list,
        }

    def create_endpoint_config(self, params: Params) -> Params:
        """Keep an EndpointConfig; refuses what the local AWS cannot host."""
        variants = params["ProductionVariants"]
        if len(variants) != 1 or params.get("ShadowProductionVariants"):
            raise refused(f"the local AWS hosts one production variant and no shadows, got {len(variants)}")
        output = params.get("AsyncInferenceConfig", {}).get("OutputConfig", {})
        if params.get("AsyncInferenceConfig") and not output.get("S3OutputPath"):
            raise refused("an asynchronous endpoint needs an S3OutputPath")
        _check_variant(variants[0])
        self._models.get(variants[0]["ModelName"])
        for pool in variants[0].get("InstancePools", []):
            if pool.get("ModelNameOverride"):
                self._models.get(pool["ModelNameOverride"])
        return self._configs.create(params)

    def variant(self, config_name: str) -> dict[str, Any]:
        """The one production variant of an EndpointConfig; raises ApiError for an unknown one."""
        variant: dict[str, Any] = self._configs.get(config_name)["ProductionVariants"][0]
        return variant

    def queue(self, config_name: str) -> Params | None:
        """The AsyncInferenceConfig of an EndpointConfig, None for a realtime one. Raises as `variant`."""
        return self._configs.get(config_name).get("AsyncInferenceConfig")

    def capture(self, config_name: str) -> Params | None:
        """The DataCaptureConfig of an EndpointConfig, None where it has none. Raises as `variant`."""
        return self._configs.get(config_name).get("DataCaptureConfig")

    def container(self, model_name: str) -> dict[str, Any]:
        """The container of a Model; raises ApiError for an unknown Model and for several containers."""
        model = self._models.get(model_name)
        containers = model.get("Containers") or [model.get("PrimaryContainer", {})]
        if len(containers) != 1:
            raise refused(f"the local AWS hosts one container, the model {model_name} has {len(containers)}")
        container: dict[str, Any] = containers[0]
        return container


def _check_variant(variant: dict[str, Any]) -> None:
    kinds = [name for name in ("InstanceType", "InstancePools", "ServerlessConfig") if variant.get(name)]
    if len(kinds) != 1:
        got = " and ".join(kinds) or "none"
        raise refused(f"a variant takes one of InstanceType, InstancePools, ServerlessConfig, got {got}")
    if kinds == ["ServerlessConfig"]:
        raise refused("the local AWS hosts no serverless endpoints")
    priorities = [pool["Priority"] for pool in variant.get("InstancePools", [])]
    if len(set(priorities)) != len(priorities):
        raise refused(f"instance pools must have distinct priorities, got {priorities}")
    if not variant.get("ModelName"):
        raise refused("the local AWS hosts models, not inference components: ModelName is missing")


class Records:
    """Named, immutable records of one kind."""

    def __init__(self, context: LocalContext, kind: str, path: str, not_found: str) -> None:
        self._context = context
        self._kind = kind
        self._path = path
        self._not_found = not_found
        self._records: dict[str, Params] = {}
        self._lock = threading.Lock()

    def create(self, params: Params) -> Params:
        """Keep a record; raises ApiError where the name is taken."""
        name = params[f"{self._kind}Name"]
        record = params | {f"{self._kind}Arn": self._arn(name), "CreationTime": datetime.now(UTC)}
        with self._lock:
            if name in self._records:
                raise refused(f"Cannot create already existing {self._path} {self._arn(name)!r}.")
            self._records[name] = record
        return {f"{self._kind}Arn": self._arn(name)}

    def get(self, name: str) -> Params:
        """The record of that name; raises ApiError where there is none."""
        try:
            return self._records[name]
        except KeyError:
            raise refused(f"{self._not_found} {self._arn(name)!r}.") from None

    def describe(self, params: Params) -> Params:
        """The record, without the tags, which SageMaker tells through ListTags alone."""
        record = self.get(params[f"{self._kind}Name"])
        return {name: value for name, value in record.items() if name != "Tags"}

    def delete(self, params: Params) -> Params:
        """Forget the record; an endpoint that came from it goes on."""
        name = params[f"{self._kind}Name"]
        self.get(name)
        del self._records[name]
        return {}

    def list(self, _: Params) -> Params:
        """Name, ARN and time of every record, on one page."""
        members = (f"{self._kind}Name", f"{self._kind}Arn", "CreationTime")
        return {
            f"{self._kind}s": [{name: record[name] for name in members} for record in self._records.values()]
        }

    def _arn(self, name: str) -> str:
        return self._context.arn("sagemaker", f"{self._path}/{name}")


def refused(message: str) -> ApiError:
    """A refusal as SageMaker words them."""
    return ApiError("ValidationException", message)
