"""The stack of an environment of mode batch: a Model that transform jobs use, and where their files lie."""

from aws_cdk import CfnOutput, RemovalPolicy
from constructs import Construct

from cdk_app.stacks.model_stack import ModelStack
from semif.environment.environment import Environment
from semif.lock.lock_file import Lock
from semif_constructs.hosting.batch_files import BatchFiles


class BatchStack(ModelStack):
    """`Semif-NAME-Endpoint`, under the name it has in every mode; there is no endpoint in it.

    Nothing of it bills but the storage: instances come with a job and go with it. `semif batch` reads its
    outputs.
    """

    def __init__(self, scope: Construct, *, environment: Environment, lock: Lock) -> None:
        """Compose the stack from a lock that was checked against `environment`."""
        super().__init__(
            scope,
            description=f"the model of the transform jobs {environment.endpoint_name}",
            environment=environment,
            lock=lock,
        )
        retain = environment.removal == "retain"
        given = environment.existing.files_bucket
        files = BatchFiles(
            self,
            "BatchFiles",
            bucket=None if given is None else self.existing_bucket("FilesBucket", given),
            encryption_key=self.encryption_key,
            removal_policy=RemovalPolicy.RETAIN if retain else RemovalPolicy.DESTROY,
        )
        self.model.model.node.add_dependency(files.grant_transform(self.model.role))
        CfnOutput(self, "BucketName", value=files.bucket.bucket_name)
