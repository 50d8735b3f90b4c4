"""The stack with what answers: role, model, endpoint configuration and endpoint."""

from aws_cdk import CfnOutput, Stack
from aws_cdk import Environment as Place
from constructs import Construct

from semif.environment import Environment
from semif.lock import Lock
from semif.pins import ImageRef
from semif_constructs.model_endpoint import ModelEndpoint
from semif_constructs.served_model import ServedModel


class EndpointStack(Stack):
    """`Semif-NAME-Endpoint`. Image and model are plain values from the lock, nothing is imported.

    The stack belongs to the lock's account and region, where image and archive are, even where the
    environment leaves them open: the CDK then refuses credentials of another account.
    """

    def __init__(self, scope: Construct, *, environment: Environment, lock: Lock) -> None:
        """Compose the stack from a lock that was checked against `environment`."""
        super().__init__(
            scope,
            environment.endpoint_stack,
            description=f"Semif {environment.name}: the endpoint {environment.endpoint_name}",
            env=Place(account=lock.account, region=lock.region),
            stack_name=environment.endpoint_stack,
            tags={"semif:environment": environment.name},
        )
        # The same ids for both kinds: an environment that changes its kind keeps its endpoint.
        model = ServedModel(
            self,
            "Model",
            endpoint_name=environment.endpoint_name,
            environment=environment.container_variables,
            image=ImageRef.parse(lock.image_uri),
            model_bucket_name=lock.model.bucket,
            model_key=lock.model.key,
        )
        table = environment.endpoint
        endpoint = ModelEndpoint(
            self,
            "Endpoint",
            container_startup_health_check_timeout_seconds=environment.startup_timeout_seconds,
            endpoint_name=environment.endpoint_name,
            inference_ami_version=table.inference_ami_version,
            initial_instance_count=table.initial_instance_count,
            instance_pool=table.instance_pool,
            instance_type=table.instance_type,
            model=model,
            model_data_download_timeout_seconds=environment.model_download_timeout_seconds,
            provision_timeout_seconds=table.provision_timeout_seconds,
        )
        CfnOutput(self, "EndpointName", value=endpoint.endpoint_name)
        CfnOutput(self, "EndpointArn", value=endpoint.endpoint_arn)
        CfnOutput(self, "ModelName", value=model.model_name)
