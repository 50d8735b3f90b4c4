"""`semif size`: how many instances a load needs."""

from collections.abc import Iterator
from dataclasses import asdict

import click

from semif.cli.options import NumberRange, environment_argument, target_options
from semif.cli.output import json_option, print_json
from semif.deployment.endpoint.capacity import MAX_BUSY, FleetSize, RequestLoad, size
from semif.deployment.endpoint.estimated_rate import EstimatedRate, estimate_rate
from semif.deployment.endpoint.token_rate import rate_from_log, rate_from_url
from semif.environment.environment import Environment, load_environment
from semif.errors import SemifError
from semif.models.presets import Preset
from semif.sagemaker.instances import instance_type
from semif.target.target import open_target


@click.command()
@environment_argument
@click.option(
    "--rps",
    "requests_per_second",
    type=NumberRange(0, 1e6, min_open=True),
    required=True,
    help="Requests a second, of all callers together.",
)
@click.option(
    "--tokens",
    type=click.IntRange(1, 1_000_000),
    required=True,
    help="Tokens of one question's prompt, state included: input_tokens of an answer.",
)
@click.option(
    "--questions",
    type=click.IntRange(1, 1024),
    default=1,
    show_default=True,
    help="Questions of a request, about one state.",
)
@click.option(
    "--cached",
    "cached_share",
    type=NumberRange(0, 1, max_open=True),
    default=0.0,
    show_default=True,
    help="Share of the prompt tokens that is cached: cached_tokens divided by input_tokens of the answers.",
)
@click.option(
    "--tokens-per-second",
    type=NumberRange(0, 1e9, min_open=True),
    help="What one instance computes; default: the figures of ENV's endpoint in the last hour.",
)
@click.option("--url", metavar="URL", help="Ask the adapter at this address for its tokens per second.")
@click.option(
    "--estimate",
    is_flag=True,
    help="Derive the rate from what was measured on one core of another machine, by the model's type and "
    "size and the instance's cores; every step is told. For CPUs only.",
)
@target_options
@json_option
def command(
    *,
    environment: str,
    requests_per_second: float,
    tokens: int,
    questions: int,
    cached_share: float,
    tokens_per_second: float | None,
    url: str | None,
    estimate: bool,
    on_this_machine: bool,
    profile: str | None,
    as_json: bool,
) -> None:
    """Tell how many instances a load needs.

    Computes from the adapter's token rate how many instances of ENV a load of decisions needs, how busy they
    are, and how long a request waits and takes. Changes nothing. The rate is the one given, the one that the
    adapter at --url tells, an estimate (--estimate), or the one that ENV's endpoint printed in the last hour.
    What is assumed is printed too. Costs are left out.

    \b
    Examples:
      semif size dev --rps 0.2 --tokens 400 --estimate
      semif size dev --rps 5 --tokens 400 --tokens-per-second 1200
      semif size prod --rps 40 --tokens 600 --questions 8 --cached 0.85
    """
    told = sum((tokens_per_second is not None, url is not None, estimate))
    if told > 1:
        raise click.UsageError("--tokens-per-second, --url and --estimate all tell the rate; give one")
    if told and (on_this_machine or profile):
        raise click.UsageError("--local and --profile say whose log to read; leave them out with a rate")
    loaded = load_environment(environment)
    _refuse(loaded, tokens)
    derivation: tuple[str, ...] = ()
    if tokens_per_second is not None:
        rate, source = tokens_per_second, "given"
    elif url is not None:
        rate, source = rate_from_url(url), f"told by {url}"
    elif estimate:
        rate, derivation = _estimate(loaded)
        source = "an estimate"
    else:
        try:
            target = open_target(environment, on_this_machine=on_this_machine, profile=profile)
            rate, count = rate_from_log(target.aws, loaded.endpoint_name)
        except SemifError as error:
            raise SemifError(
                f"{error}; or give --tokens-per-second, --url of an adapter, or --estimate"
            ) from None
        source = f"median of {count} figures of {loaded.endpoint_name} in the last hour"
    load = RequestLoad(requests_per_second, tokens, questions, cached_share)
    fleet = size(load, tokens_per_second=rate, deadline_seconds=loaded.settings.deadline_seconds)
    assumptions = [*derivation, *_assumptions(loaded, derived=bool(derivation))]
    if as_json:
        print_json(
            {
                "environment": environment,
                "load": asdict(load),
                "tokens_per_second": rate,
                "rate_source": source,
                "size": {**asdict(fleet), "seconds": fleet.seconds},
                "assumptions": assumptions,
            }
        )
        return
    for line in (*_lines(loaded, load, fleet, rate, source), "assumed:"):
        click.echo(line)
    for line in assumptions:
        click.echo(f"  {line}")


def _refuse(environment: Environment, tokens: int) -> None:
    kind, mode = environment.serving_kind, environment.inference_mode
    if kind.sizing_problem is not None:
        raise SemifError(
            f"{environment.name} is of kind '{kind.name}': {kind.sizing_problem}; size an environment of "
            "kind 'decision'"
        )
    if mode.sizing_problem is not None:
        raise SemifError(f"{environment.name} {mode.sizing_problem}; size an environment of another mode")
    if tokens > (longest := environment.settings.context_tokens):
        raise SemifError(
            f"--tokens {tokens} is longer than adapter.context_tokens of {environment.name}, {longest}: "
            "such a prompt is refused; shorten it or raise the setting"
        )


def _lines(
    environment: Environment, load: RequestLoad, fleet: FleetSize, rate: float, source: str
) -> Iterator[str]:
    types = " or ".join(environment.endpoint.instance_types)
    yield f"{fleet.instances} x {types}"
    fewest, most = environment.min_instance_count, environment.max_instance_count
    short = ", too few" if most < fleet.instances else ""
    yield f"  in the file     {fewest} to {most}{short}"
    yield f"  rate            {rate:,.0f} tokens/s an instance, {source}"
    yield f"  to compute      {load.computed_tokens:,.0f} tokens a request"
    yield f"  busy            {fleet.busy:.0%} of the time"
    yield f"  work            {fleet.service_seconds:.3f} s a request"
    yield f"  wait for it     {fleet.queue_seconds:.3f} s on average"
    yield f"  answer          {fleet.seconds:.3f} s on average"
    yield f"  in flight       {fleet.in_flight:.2f} requests an instance on average"


def _estimate(environment: Environment) -> EstimatedRate:
    """Of the instance type that computes the least."""
    preset = environment.preset
    assert isinstance(preset, Preset)  # what else answers decisions
    threads = environment.settings.threads
    return min(
        estimate_rate(instance_type(name), preset, threads) for name in environment.endpoint.instance_types
    )


def _assumptions(environment: Environment, *, derived: bool) -> Iterator[str]:
    deadline = environment.settings.deadline_seconds
    yield "requests come at random, evenly over the instances and all of one size; bursts wait longer"
    yield "wait = work x busy / (2 x (1 - busy)): one request after another, as M/D/1 has it"
    yield f"no instance is busy more than {MAX_BUSY:.0%}: room for bursts, and until a new instance is up"
    yield f"the mean answer comes within adapter.deadline_seconds, {deadline:g} s"
    yield "an answer's time is the container's; the network and SageMaker add theirs"
    if len(environment.endpoint.instance_types) > 1 and not derived:
        yield "every instance type of the pool computes at this rate: take that of the slowest"
