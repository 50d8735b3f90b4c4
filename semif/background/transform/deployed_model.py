"""The Model that transform jobs use, and whether it is what the lock pins."""

from collections.abc import Iterator
from dataclasses import dataclass

from semif.aws.clients import aws_errors
from semif.aws.stacks import stack_resource
from semif.lock.lock_file import Lock
from semif.target.endpoint_state import model_data_of
from semif.target.target import Target


@dataclass(frozen=True)
class ModelState:
    """A Model as SageMaker tells of it."""

    name: str
    image: str
    model_data: str
    """The archive."""

    def problems(self, lock: Lock) -> Iterator[str]:
        """Why this is not the Model of `lock`."""
        if self.image != lock.image_uri:
            yield f"the model {self.name} has the image {self.image}, the lock pins {lock.image_uri}"
        if self.model_data != lock.model.address:
            yield f"the model {self.name} has the data {self.model_data}, the lock pins {lock.model.address}"


def find_model(target: Target) -> ModelState | None:
    """The Model of the environment's stack; None without one. Raises SemifError."""
    name = stack_resource(target.aws, target.environment.endpoint_stack, "AWS::SageMaker::Model")
    if name is None:
        return None
    with aws_errors():
        description = target.aws.sagemaker.describe_model(ModelName=name)
    container = description["PrimaryContainer"]
    return ModelState(description["ModelName"], container.get("Image", ""), model_data_of(container))


def model_problems(target: Target, state: ModelState | None, lock: Lock) -> list[str]:
    """Why jobs would not run what `lock` pins; empty where they would."""
    if state is None:
        return [f"{target.environment.endpoint_stack} has no model; run `semif deploy {target.command_line}`"]
    return list(state.problems(lock))
