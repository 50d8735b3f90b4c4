"""Whom an evaluation asks: an environment's endpoint, or a server at an address."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Literal, cast, get_args

from semif.aws.clients import aws_errors
from semif.client.transports.endpoint_transport import EndpointTransport, invoke_config
from semif.client.transports.url_transport import ATTEMPT_SECONDS, UrlTransport
from semif.environment.asking import require_mode
from semif.environment.environment import Environment
from semif.errors import SemifError
from semif.evaluation.asking.asked_server import AskedTarget
from semif.evaluation.asking.forms import RequestForm
from semif.evaluation.asking.forms.chat import ChatForm
from semif.evaluation.asking.forms.chat_request import ChatRequest, chat_request
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
    "chat": "/chat/completions",
}


def url_target(
    url: str,
    form: FormName,
    *,
    connections: int,
    api_key: str | None,
    chat: ChatRequest | None = None,
    headers: Mapping[str, str] = MappingProxyType({}),
    secrets: Sequence[str] = (),
    timeout: float | None = None,
) -> AskedTarget:
    """The server at `url`: its base, or the whole address of what takes this form. Raises SemifError.

    A `chat` that is no chat completion goes to the very address. A `timeout` may be longer than the time
    that an endpoint has: models that think first take minutes.
    """
    kind: TargetKind = "adapter" if form == "decision" else form
    path = "" if form == "chat" and chat is not None and not chat.is_completion else _path(url, form)
    transport = UrlTransport(
        url,
        path=path,
        api_key=api_key,
        connections=connections,
        headers=headers,
        secrets=secrets,
        attempt_seconds=None if timeout is None else max(timeout, ATTEMPT_SECONDS),
    )
    return AskedTarget(TargetName(kind=kind, name=url), _form(form, chat), transport, timeout=timeout)


def _path(url: str, form: FormName) -> str:
    """What the form's address ends with; OpenAI's clients take a base that ends in /v1."""
    within = ("/v1", "/v1/", _PATHS["chat"])
    return f"/v1{_PATHS[form]}" if form == "chat" and not url.endswith(within) else _PATHS[form]


def endpoint_target(
    where: Target,
    form: FormName | None,
    *,
    connections: int,
    chat: ChatRequest | None = None,
    timeout: float | None = None,
) -> AskedTarget:
    """The endpoint of an environment. Raises SemifError for a form that its kind does not answer."""
    environment = where.environment
    require_mode(environment, "realtime")
    name = form or cast(FormName, environment.serving_kind.forms[0])
    _check_form(environment, name)
    if chat is not None and name != "chat":
        raise SemifError(
            f"{environment.name} is asked as {name}; leave out what is for --as chat: --model, --system, "
            "--prompt, --max-tokens, --body and --answer-path"
        )
    kind: TargetKind = "endpoint" if name == "decision" else name
    with aws_errors():
        runtime = where.aws.session.client(
            "sagemaker-runtime", config=invoke_config(connections), endpoint_url=where.aws.endpoint_url
        )
    return AskedTarget(
        TargetName(kind=kind, name=environment.endpoint_name),
        _form(name, chat),
        EndpointTransport(runtime, environment.endpoint_name, owned=True),
        pins=_locked(where.read_lock()),
        timeout=timeout,
    )


def _form(name: FormName, chat: ChatRequest | None) -> RequestForm:
    match name:
        case "decision":
            return DecisionForm()
        case "system-one":
            return SystemOneForm()
        case "chat":
            return ChatForm(chat or chat_request())


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
