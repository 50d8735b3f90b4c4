"""How many instances the account may have, against what the endpoint needs: to be made, and to be updated.

CreateEndpoint and UpdateEndpoint are refused where a quota is too small for what they start. A type of a pool
without any quota fails the whole of it: SageMaker falls back for want of capacity alone (the guide,
https://docs.aws.amazon.com/sagemaker/latest/dg/realtime-endpoints-heterogeneous.html, read 2026-11-30; that
quota 0 is refused is from reports, seen by nobody here). What holds in a pool between 1 and the number that
is needed is not known.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from semif.aws.clients import Aws
from semif.environment.environment import Environment
from semif.sagemaker.update_strategies import extra_instances
from semif.target.endpoint_state import EndpointState

if TYPE_CHECKING:
    from mypy_boto3_service_quotas.type_defs import ServiceQuotaTypeDef

_SERVICE = "sagemaker"


@dataclass(frozen=True)
class Quota:
    """A quota as Service Quotas has it."""

    name: str
    code: str
    """`L-` and eight digits and letters."""
    value: int

    def too_small(self, region: str, what: str, needed: int) -> str:
        """The line for people: it is too small for `needed` instances, and how it is raised."""
        return (
            f'{region} allows {self.value} instances of {what}, needed are {needed}: the quota "{self.name}" '
            f"({self.code}); raise it with `aws service-quotas request-service-quota-increase "
            f"--region {region} --service-code {_SERVICE} --quota-code {self.code} --desired-value {needed}`"
        )


@dataclass(frozen=True)
class QuotaFindings:
    """What of the quotas does not fit, in lines for people."""

    problems: list[str]
    """What keeps the endpoint, or the job, from being made."""
    update_problems: list[str]
    """What keeps the endpoint from moving to another configuration."""
    warnings: list[str]


def check_quotas(aws: Aws, environment: Environment, running: EndpointState | None) -> QuotaFindings:
    """Hold the account's quotas against `environment`, whose endpoint is `running`, or not there."""
    types = environment.endpoint.instance_types
    names = {one: f"{one} for {environment.inference_mode.quota} usage" for one in types}
    quotas = _find_quotas(aws, list(names.values()))
    known = {one: quotas[name] for one, name in names.items() if name in quotas}
    warnings = [
        f'{aws.region} tells no quota "{name}"; see that the region has {one}'
        for one, name in names.items()
        if one not in known
    ]
    problems = list(_creation(aws.region, environment, known, warnings))
    updates = []
    if environment.inference_mode.has_endpoint and not problems:
        updates = list(_update(aws.region, environment, known, running))
        warnings.extend(_scaling(aws.region, environment, known))
    return QuotaFindings(problems, updates, warnings)


def _creation(
    region: str, environment: Environment, known: Mapping[str, Quota], warnings: list[str]
) -> Iterator[str]:
    """Types that keep it from being made; those of a pool that may do so are put into `warnings`."""
    types, count = environment.endpoint.instance_types, environment.endpoint.initial_instance_count
    together = sum(quota.value for quota in known.values())
    short = len(known) == len(types) and together < count
    for one, quota in known.items():
        line = quota.too_small(region, one, count)
        if quota.value >= count:
            continue
        if quota.value == 0 or short:
            yield f"{line}, or take the type out of the pool" if len(types) > 1 and not short else line
        else:
            warnings.append(f"{line}, or take the type out of the pool")


def _update(
    region: str, environment: Environment, known: Mapping[str, Quota], running: EndpointState | None
) -> Iterator[str]:
    """Where the fleet that runs and what an update starts beside it do not fit together.

    Before there is an endpoint, one as the file has it is taken for the one that runs. Of one whose types
    nobody tells, it is for SageMaker to say.
    """
    types = environment.endpoint.instance_types
    if len(known) < len(types) or (running is not None and not running.instance_types):
        return
    count = running.desired_instances if running is not None else environment.endpoint.initial_instance_count
    # Of a type that does not run yet, the new fleet is all that there is.
    stays = running is None or bool(set(running.instance_types) & set(types))
    strategy = environment.deployment.strategy if environment.deployment else "all-at-once"
    extra = extra_instances(strategy, count, fewest=environment.min_instance_count)
    needed = extra + (count if stays else 0)
    together = sum(quota.value for quota in known.values())
    if together >= needed:
        return
    beside = f"beside the {count} that run" if stays else "of other types than those that run"
    remedy = (
        f"an update ({strategy}) starts {extra} {beside}; or `semif deploy {environment.name} --recreate`, "
        "during which nobody is answered"
    )
    if len(types) == 1:
        yield f"{known[types[0]].too_small(region, types[0], needed)}: {remedy}"
    else:
        yield (
            f"{region} allows {together} instances of {', '.join(types)} together, needed are {needed}; "
            f"raise the quotas: {remedy}"
        )


def _scaling(region: str, environment: Environment, known: Mapping[str, Quota]) -> Iterator[str]:
    # An endpoint with a pool is heterogeneous: its types may make up the number together.
    types, most = environment.endpoint.instance_types, environment.max_instance_count
    together = sum(quota.value for quota in known.values())
    if len(known) == len(types) and environment.endpoint.initial_instance_count <= together < most:
        yield (
            f"{region} allows {together} instances of {', '.join(types)} together, scaling may ask for "
            f"{most}; raise the quotas, or lower scaling.max_instance_count"
        )


def _find_quotas(aws: Aws, names: Collection[str]) -> dict[str, Quota]:
    """The quotas of these names: the account's own, else AWS's default. Service Quotas does not list the
    former for every quota."""
    quotas: dict[str, Quota] = {}
    for pages in (_own_quotas(aws), _default_quotas(aws)):
        for page in pages:
            for name, quota in page.items():
                if name in names:
                    quotas.setdefault(name, quota)
            if len(quotas) == len(names):
                return quotas
    return quotas


def _own_quotas(aws: Aws) -> Iterator[dict[str, Quota]]:
    for page in aws.service_quotas.get_paginator("list_service_quotas").paginate(ServiceCode=_SERVICE):
        yield _by_name(page["Quotas"])


def _default_quotas(aws: Aws) -> Iterator[dict[str, Quota]]:
    paginator = aws.service_quotas.get_paginator("list_aws_default_service_quotas")
    for page in paginator.paginate(ServiceCode=_SERVICE):
        yield _by_name(page["Quotas"])


def _by_name(quotas: "Iterable[ServiceQuotaTypeDef]") -> dict[str, Quota]:
    return {
        quota["QuotaName"]: Quota(quota["QuotaName"], quota["QuotaCode"], int(quota["Value"]))
        for quota in quotas
        if "QuotaName" in quota and "Value" in quota
    }
