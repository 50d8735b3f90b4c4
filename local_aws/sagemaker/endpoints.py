"""SageMaker's Endpoints: hosts that really run, and InvokeEndpoint that reaches them."""

import http.client
import threading
from dataclasses import dataclass, field
from datetime import UTC, datetime

from local_aws.core.api import ApiError, Operation, Params
from local_aws.core.context import LocalContext
from local_aws.sagemaker.async_inference import RequestQueue
from local_aws.sagemaker.data_capture import DataCapture
from local_aws.sagemaker.deployment import Deployment, retained
from local_aws.sagemaker.hosts.errors import HostingError
from local_aws.sagemaker.hosts.host import INVOKE_SECONDS, ContainerReply, ModelHost
from local_aws.sagemaker.invocation import Invocation, model_error
from local_aws.sagemaker.placement import placed_pool, variant_summary
from local_aws.sagemaker.records import SageMakerRecords, refused
from local_aws.sagemaker.update_rules import check_update

SERVING = {"InService", "Updating"}
MAX_REASON = 1024


@dataclass
class LocalEndpoint:
    """An endpoint, the host behind it, and who waits for its status to change."""

    name: str
    config_name: str
    host: ModelHost
    variant: Params
    """The ProductionVariantSummary."""
    queue: RequestQueue | None = None
    """Of an asynchronous endpoint that serves."""
    deployment: Deployment | None = None
    """To another configuration, while it goes on."""
    created: datetime = field(default_factory=lambda: datetime.now(UTC))
    modified: datetime = field(default_factory=lambda: datetime.now(UTC))
    status: str = "Creating"
    failure_reason: str | None = None
    changed: threading.Condition = field(default_factory=threading.Condition)

    def move(self, status: str, failure_reason: str | None = None) -> None:
        """Change the status and wake those who wait for it."""
        with self.changed:
            self.status = status
            self.failure_reason = failure_reason and failure_reason[:MAX_REASON]
            self.modified = datetime.now(UTC)
            self.changed.notify_all()


class SageMakerEndpoints:
    """The operations on Endpoints, under botocore's names and shapes."""

    def __init__(self, context: LocalContext, records: SageMakerRecords) -> None:
        self._context = context
        self._records = records
        self._endpoints: dict[str, LocalEndpoint] = {}
        self._lock = threading.Lock()

    def operations(self) -> dict[str, Operation]:
        """Every operation on endpoints that is served here instead of in moto."""
        return {
            "CreateEndpoint": self.create_endpoint,
            "UpdateEndpoint": self.update_endpoint,
            "UpdateEndpointWeightsAndCapacities": self.update_endpoint_weights_and_capacities,
            "DescribeEndpoint": self.describe_endpoint,
            "DeleteEndpoint": self.delete_endpoint,
            "ListEndpoints": self.list_endpoints,
        }

    def create_endpoint(self, params: Params) -> Params:
        """Start the host in the background: Creating until `/ping` answers 200 or the start fails."""
        name, config_name = params["EndpointName"], params["EndpointConfigName"]
        with self._lock:
            if name in self._endpoints:
                raise refused(f"Cannot create already existing endpoint {self._arn(name)!r}.")
            endpoint = LocalEndpoint(name, config_name, *self._new_host(name, config_name))
            self._endpoints[name] = endpoint

        def start() -> None:
            try:
                endpoint.host.start()
            except HostingError as error:
                endpoint.move("Failed", str(error))
            else:
                self._serve(endpoint)

        threading.Thread(target=start, daemon=True).start()
        return {"EndpointArn": self._arn(name)}

    def update_endpoint(self, params: Params) -> Params:
        """Start a host of another config beside the old one, which serves until that one is ready.

        Where the DeploymentConfig names alarms for an automatic rollback, the new host then serves and they
        are watched; one that goes off brings the old host back.
        """
        endpoint, config_name = self._find(params["EndpointName"]), params["EndpointConfigName"]
        if params.get("RetainDeploymentConfig"):
            raise refused("the local AWS retains no DeploymentConfig; give it with each update")
        check_update(self._context, self._records, endpoint.name, endpoint.config_name, config_name)
        with self._lock:
            if endpoint.status != "InService":
                raise refused(
                    f"Cannot update endpoint {self._arn(endpoint.name)!r}: it is {endpoint.status}."
                )
            host, variant = self._new_host(endpoint.name, config_name)
            endpoint.deployment = Deployment(
                self._context,
                config_name,
                variant | retained(endpoint.variant, params),
                params.get("DeploymentConfig", {}),
            )
            endpoint.move("Updating")
        threading.Thread(target=self._deploy, args=(endpoint, endpoint.deployment, host), daemon=True).start()
        return {"EndpointArn": self._arn(endpoint.name)}

    def _deploy(self, endpoint: LocalEndpoint, deployment: Deployment, host: ModelHost) -> None:
        old = endpoint.host
        reason: str | None = None
        try:
            host.start()
        except HostingError as error:
            reason = str(error)
        else:
            endpoint.host = host
            if (alarm := deployment.bake()) is not None:
                reason = f"the alarm {alarm} went off: all traffic is back on the old fleet"
        endpoint.deployment = None
        if reason is None:
            endpoint.variant, endpoint.config_name = deployment.variant, deployment.config_name
            self._serve(endpoint)
            old.stop()
            return
        endpoint.host = old
        if endpoint.status == "Updating":  # the old container still serves
            endpoint.move("InService", reason)
        host.stop()

    def update_endpoint_weights_and_capacities(self, params: Params) -> Params:
        """Tell other numbers of instances from now on, as scaling does; one host answers all the same."""
        endpoint = self._find(params["EndpointName"])
        (asked,) = params["DesiredWeightsAndCapacities"]
        count = asked.get("DesiredInstanceCount", endpoint.variant["DesiredInstanceCount"])
        if asked["VariantName"] != endpoint.variant["VariantName"]:
            raise refused(f"Could not find variant {asked['VariantName']!r}.")
        if count < (1 if endpoint.queue is None else 0):
            raise refused("a realtime variant has an instance at least")
        with endpoint.changed:
            counts = {"CurrentInstanceCount": count, "DesiredInstanceCount": count}
            endpoint.variant = endpoint.variant | counts
        return {"EndpointArn": self._arn(endpoint.name)}

    def describe_endpoint(self, params: Params) -> Params:
        """Status, reason of a failure, and the variant with its instance pools."""
        endpoint = self._find(params["EndpointName"])
        reply = self._summary(endpoint) | {"EndpointConfigName": endpoint.config_name}
        if endpoint.failure_reason:
            reply["FailureReason"] = endpoint.failure_reason
        if endpoint.status in SERVING:
            reply["ProductionVariants"] = [endpoint.variant]
        if (config := self._records.queue(endpoint.config_name)) is not None:
            reply["AsyncInferenceConfig"] = config
        if (deployment := endpoint.deployment) is not None:
            reply["PendingDeploymentSummary"] = deployment.summary
        if (capture := self._records.capture(endpoint.config_name)) is not None:
            enabled = capture.get("EnableCapture", True)
            reply["DataCaptureConfig"] = {
                "EnableCapture": enabled,
                "CaptureStatus": "Started" if enabled and endpoint.status in SERVING else "Stopped",
                "CurrentSamplingPercentage": capture["InitialSamplingPercentage"],
                "DestinationS3Uri": capture["DestinationS3Uri"],
                "KmsKeyId": capture.get("KmsKeyId", ""),
            }
        return reply

    def delete_endpoint(self, params: Params) -> Params:
        """Stop the host and forget the endpoint."""
        endpoint = self._find(params["EndpointName"])
        with self._lock:
            if endpoint.status == "Updating":
                raise refused(f"Cannot delete endpoint {self._arn(endpoint.name)!r}: it is Updating.")
            endpoint.move("Deleting")
        if endpoint.queue is not None:
            endpoint.queue.stop()
        endpoint.host.stop()
        with self._lock:
            self._endpoints.pop(endpoint.name, None)
        return {}

    def list_endpoints(self, _: Params) -> Params:
        """Every endpoint, on one page."""
        return {"Endpoints": [self._summary(endpoint) for endpoint in list(self._endpoints.values())]}

    def wait_until_settled(self, name: str) -> LocalEndpoint:
        """Block while an endpoint is Creating or Updating, as CloudFormation does."""
        endpoint = self._find(name)
        with endpoint.changed:
            endpoint.changed.wait_for(lambda: endpoint.status not in {"Creating", "Updating"})
        return endpoint

    def invoke_endpoint(self, name: str, body: bytes, headers: dict[str, str]) -> Invocation:
        """Reach the endpoint's container with `body` and its Content-Type, Accept and custom attributes.

        Raises ApiError for an unknown endpoint and for one that does not serve. A container's refusal is no
        exception but SageMaker's ModelError, HTTP 424.
        """
        host = self.serving_host(name)
        config = self._records.capture(self._endpoints[name].config_name)
        try:
            reply = host.invoke(body, headers)
        except TimeoutError:
            message = f"Your invocation timed out: no answer from the container within {INVOKE_SECONDS} s."
            reply = ContainerReply(0, "text/plain", message.encode())
        except (OSError, http.client.HTTPException) as error:
            reply = ContainerReply(500, "text/plain", f"the container gave no whole answer: {error}".encode())
        if not 200 <= reply.status < 300:
            return model_error(reply, host)
        if config is not None:
            DataCapture(self._context, name, host.variant_name, config).record(body, headers, reply)
        return Invocation(
            200,
            {"Content-Type": reply.content_type, "x-Amzn-Invoked-Production-Variant": host.variant_name},
            reply.body,
        )

    def invoke_endpoint_async(self, name: str, asked: Params) -> Params:
        """Queue a request. Raises ApiError for an endpoint that is not asynchronous, or does not serve."""
        queue = self._serving(name).queue
        if queue is None:
            raise ApiError("ValidationError", f"Endpoint {name} is not an asynchronous endpoint.")
        return queue.accept(asked)

    def serving_host(self, name: str) -> ModelHost:
        """The host behind a realtime endpoint; raises ApiError where there is none, or none that serves."""
        endpoint = self._serving(name)
        if endpoint.queue is not None:
            raise ApiError(
                "ValidationError", f"Endpoint {name} is asynchronous: it takes InvokeEndpointAsync alone."
            )
        return endpoint.host

    def _serving(self, name: str) -> LocalEndpoint:
        endpoint = self._endpoints.get(name)
        if endpoint is None:
            raise ApiError(
                "ValidationError", f"Endpoint {name} of account {self._context.account} not found."
            )
        if endpoint.status not in SERVING:
            raise ApiError("ValidationError", f"Endpoint {name} is {endpoint.status}, not InService.")
        return endpoint

    def _serve(self, endpoint: LocalEndpoint) -> None:
        host, before = endpoint.host, endpoint.queue
        config = self._records.queue(endpoint.config_name)
        endpoint.queue = (
            RequestQueue(self._context, endpoint.name, config, lambda: endpoint.host) if config else None
        )
        waiting = before.stop() if before is not None else []
        if endpoint.queue is not None:
            endpoint.queue.take_over(waiting)

        def fail(reason: str) -> None:
            if endpoint.host is host:
                endpoint.move("Failed", reason)

        endpoint.move("InService")
        host.on_exit(fail)

    def _new_host(self, name: str, config_name: str) -> tuple[ModelHost, Params]:
        variant = self._records.variant(config_name)
        pool = placed_pool(variant)
        container = self._records.container(pool.get("ModelNameOverride") or variant["ModelName"])
        summary = variant_summary(variant, container, pool)
        return ModelHost(self._context, name, variant, container), summary

    def _find(self, name: str) -> LocalEndpoint:
        try:
            return self._endpoints[name]
        except KeyError:
            raise refused(f"Could not find endpoint {self._arn(name)!r}.") from None

    def _summary(self, endpoint: LocalEndpoint) -> Params:
        return {
            "EndpointName": endpoint.name,
            "EndpointArn": self._arn(endpoint.name),
            "EndpointStatus": endpoint.status,
            "CreationTime": endpoint.created,
            "LastModifiedTime": endpoint.modified,
        }

    def _arn(self, name: str) -> str:
        return self._context.arn("sagemaker", f"endpoint/{name}")
