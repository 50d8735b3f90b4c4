"""The steps of an environment of kind decider, in order."""

from semif.verify import forms
from semif.verify.phases.shared import API, CREATE, GUIDE, IN_SERVICE, LOGS, PREFIX
from semif.verify.step import Phase, Step
from semif.verify.steps import decider_steps, endpoint_steps

DECIDER = Phase(
    forms.words,
    (
        Step("deploy", IN_SERVICE, CREATE, endpoint_steps.deploy, rows=("decider kind |",), minutes=20),
        Step(
            "first answer",
            "a container computes on its instance's GPU where the host image has a driver for its CUDA",
            f"{GUIDE}inference-gpu-drivers.html",
            endpoint_steps.first_answer_of,
            rows=("decider kind |",),
            minutes=1,
        ),
        Step(
            "ask",
            "InvokeEndpoint answers with the body that the container returned",
            f"{API}API_runtime_InvokeEndpoint.html",
            decider_steps.ask,
            rows=("decider kind |",),
            minutes=1,
        ),
        Step(
            "too long",
            "a container's 422 reaches the caller as ModelError with its body",
            f"{API}API_runtime_InvokeEndpoint.html",
            decider_steps.too_long,
            rows=("decider kind |",),
            minutes=1,
            not_for=decider_steps.not_strict,
        ),
        LOGS,
        PREFIX,
    ),
)
