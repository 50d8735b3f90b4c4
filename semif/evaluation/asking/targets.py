"""Whom an evaluation asks: an environment's endpoint, or a server at an address."""

from typing import Literal, cast, get_args

from semif.aws.clients import aws_errors
from semif.client.transports.endpoint_transport import EndpointTransport, invoke_config
from semif.client.transports.url_transport import UrlTransport
from semif.environment.asking import require_mode
from semif.environment.environment import Environment
from semif.errors import SemifError
from semif.evaluation.asking.asked_server import AskedTarget
from semif.evaluation.asking.forms import RequestForm
from semif.evaluation.asking.forms.chat import ChatForm
from semif.evaluation.asking.forms.decision import DecisionForm
from semif.evaluation.asking.forms.system_one import SystemOneForm
from semif.evaluation.runs.run_file import Pins, TargetKind, TargetName
from semif.lock.lock_file import Lock, UnbuiltImage
from semif.target.target import Target

FormName = Literal["decision", "system-one", "chat"]
FORM_NAMES: tuple[FormName, ...] = get_args(FormName)

_PATHS: dict[FormName, str] = {
    "decision": "/invocations",
    "system-one": "/v1/systemone",
    "chat": "/v1/chat/completions",
}


def url_target(
    url: str, form: FormName, *, max_tokens: int, connections: int, api_key: str | None
) -> AskedTarget:
    """The server at `url`: its base, or the whole address of what takes this form. Raises SemifError."""
    kind: TargetKind = "adapter" if form == "decision" else form
    transport = UrlTransport(url, path=_PATHS[form], api_key=api_key, connections=connections)
    return AskedTarget(TargetName(kind=kind, name=url), _form(form, max_tokens), transport)


def endpoint_target(
    where: Target, form: FormName | None, *, max_tokens: int, connections: int
) -> AskedTarget:
    """The endpoint of an environment. Raises SemifError for a form that its kind does not answer."""
    environment = where.environment
    require_mode(environment, "realtime")
    name = form or cast(FormName, environment.serving_kind.forms[0])
    _check_form(environment, name)
    kind: TargetKind = "endpoint" if name == "decision" else name
    with aws_errors():
        runtime = where.aws.session.client(
            "sagemaker-runtime", config=invoke_config(connections), endpoint_url=where.aws.endpoint_url
        )
    return AskedTarget(
        TargetName(kind=kind, name=environment.endpoint_name),
        _form(name, max_tokens),
        EndpointTransport(runtime, environment.endpoint_name, owned=True),
        pins=_locked(where.read_lock()),
    )


def _form(name: FormName, max_tokens: int) -> RequestForm:
    match name:
        case "decision":
            return DecisionForm()
        case "system-one":
            return SystemOneForm()
        case "chat":
            return ChatForm(max_tokens)


def _check_form(environment: Environment, form: FormName) -> None:
    forms = environment.serving_kind.forms
    if form not in forms:
        raise SemifError(
            f"{environment.name} is of kind '{environment.kind}' and does not answer --as {form}; use "
            + " or ".join(f"--as {allowed}" for allowed in forms)
        )


def _locked(lock: Lock) -> Pins:
    """What the lock pins; an image that was never built has no digest, and of two either may answer."""
    alone = lock.fallback_image is None and not isinstance(lock.image, UnbuiltImage)
    image = lock.image_uri if alone else None
    return Pins(image=image, model_data=lock.model.address)
