"""Decision models on SageMaker as CDK constructs: everything that an app needs is imported from here.

To host a model, give a `ServedModel` an `ImageRef` and `Settings`, and put a `ModelEndpoint` on it.
To let requests wait in a queue, give the endpoint an `AsyncInference`.
To keep a share of what callers ask, give the endpoint a `DataCapture`.
To ask whole files in transform jobs, let `BatchFiles` grant it to the model's role.
To follow the load, bound the instances with `VariantScaling`, and of a queue add `BacklogScaling`.
To update step by step and to go back on alarms, give the endpoint a `deployment_config`.
To have a throw-away endpoint deleted in time, make an `EndpointExpiry`.
To be told what it costs, make a `MonthlyBudget`.
To be told of trouble, let `RequestAlarms` and `CapacityAlarms` tell an `AlarmTopic`, or any alarm action.
To ask and watch an endpoint that is there already, take `ModelEndpoint.from_endpoint_name`.
To see how it does, make an `EndpointLog` and an `EndpointDashboard`, or take one of the `EndpointMetrics`.
To build a model in the account, give a `ModelBuild` a `ModelBucket`.
To build the adapter's image there, give an `ImageBuild` that bucket and an `AdapterRepository`.
To let both run in a VPC of yours, give them a `BuildNetwork`, and mirrors of what they fetch.
"""

from semif.images.image_ref import ImageRef
from semif_adapter.contract.settings import Settings
from semif_constructs.builds.adapter_repository import AdapterRepository
from semif_constructs.builds.build_network import BuildNetwork
from semif_constructs.builds.image_build import ImageBuild
from semif_constructs.builds.model_bucket import ModelBucket
from semif_constructs.builds.model_build import ModelBuild
from semif_constructs.hosting.async_inference import AsyncInference
from semif_constructs.hosting.backlog_scaling import BacklogScaling
from semif_constructs.hosting.batch_files import BatchFiles
from semif_constructs.hosting.data_capture import DataCapture
from semif_constructs.hosting.endpoint_base import EndpointBase
from semif_constructs.hosting.endpoint_expiry import EndpointExpiry
from semif_constructs.hosting.model_endpoint import ModelEndpoint
from semif_constructs.hosting.served_model import ServedModel
from semif_constructs.hosting.update_policy import deployment_config
from semif_constructs.hosting.variant_scaling import VariantScaling
from semif_constructs.signals.endpoint_log import EndpointLog
from semif_constructs.signals.endpoint_metrics import EndpointMetrics
from semif_constructs.watching.alarm_topic import AlarmTopic
from semif_constructs.watching.capacity_alarms import CapacityAlarms
from semif_constructs.watching.endpoint_dashboard import EndpointDashboard
from semif_constructs.watching.monthly_budget import MonthlyBudget
from semif_constructs.watching.request_alarms import RequestAlarms

__all__ = [
    "AdapterRepository",
    "AlarmTopic",
    "AsyncInference",
    "BacklogScaling",
    "BatchFiles",
    "BuildNetwork",
    "CapacityAlarms",
    "DataCapture",
    "EndpointBase",
    "EndpointDashboard",
    "EndpointExpiry",
    "EndpointLog",
    "EndpointMetrics",
    "ImageBuild",
    "ImageRef",
    "ModelBucket",
    "ModelBuild",
    "ModelEndpoint",
    "MonthlyBudget",
    "RequestAlarms",
    "ServedModel",
    "Settings",
    "VariantScaling",
    "deployment_config",
]
