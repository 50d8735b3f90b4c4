"""The steps of an environment of kind text, in order."""

from semif.verify import forms
from semif.verify.phases.shared import API, CREATE, FALLBACK, GUIDE, IN_SERVICE, LOGS, PREFIX
from semif.verify.step import Phase, Step
from semif.verify.steps import endpoint_steps, setting_steps

_ASK_WORDS = Step(
    "ask",
    "InvokeEndpoint answers with the container's reply, InvokeEndpointWithResponseStream part by part",
    f"{API}API_runtime_InvokeEndpointWithResponseStream.html",
    endpoint_steps.first_answer_of,
    rows=("text kind |",),
    minutes=1,
)


WORDS = Phase(
    forms.words,
    (
        Step("deploy", IN_SERVICE, CREATE, endpoint_steps.deploy, rows=("text kind |",), minutes=15),
        _ASK_WORDS,
        LOGS,
        PREFIX,
        FALLBACK,
        Step(
            "a model from Hugging Face",
            "without network isolation a container may reach the internet",
            f"{GUIDE}mkt-algo-model-internet-free.html",
            setting_steps.hub,
            rows=("text kind with a model from Hugging Face",),
            minutes=0.5,
            not_for=setting_steps.no_hub,
        ),
    ),
)
