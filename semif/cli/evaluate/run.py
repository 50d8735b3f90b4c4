"""`semif evaluate run`: ask labelled tasks and keep every answer."""

from collections import Counter
from contextlib import closing
from pathlib import Path

import click

from semif.cli.evaluate.chat import Chat, chat_options
from semif.cli.evaluate.table import table_options
from semif.cli.options import NumberRange, api_key, key_remedy, target_options, url_option
from semif.cli.output import json_option
from semif.cli.progress import count_on_stderr
from semif.client.errors import DecisionError
from semif.environment.environment import environment_names
from semif.errors import SemifError
from semif.evaluation.asking.concurrency import MAX_IN_FLIGHT
from semif.evaluation.asking.evaluation import evaluate
from semif.evaluation.asking.first_replies import NoAnswersError
from semif.evaluation.asking.targets import FORM_NAMES, FormName, endpoint_target, url_target
from semif.evaluation.extra import need_evaluate_extra
from semif.evaluation.runs.run_file import Asking, read_run
from semif.evaluation.tasks.suite import load_suite, of_suite, suite_names
from semif.evaluation.tasks.table_tasks import Columns
from semif.evaluation.tasks.task_sets import read_task_sets
from semif.target.target import open_target


@click.command()
@click.argument("arguments", metavar="[ENV] TASKS...", nargs=-1)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    required=True,
    help="The run file; one that is there goes on.",
)
@url_option
@click.option(
    "--as",
    "form",
    type=click.Choice(FORM_NAMES),
    help="Form of the requests; default: decision, chat for kind text, system-one for kind decider.",
)
@click.option(
    "--concurrency", type=click.IntRange(1, 256), help="Callers that wait for their answers; default: 1."
)
@click.option(
    "--rate",
    type=NumberRange(0, 1000, min_open=True),
    help="Arrivals per second, answered or not; latency counts from the planned arrival.",
)
@click.option(
    "--timeout",
    type=NumberRange(0, 86_400, min_open=True),
    metavar="SECONDS",
    help="Longest time for an answer, all attempts and waits included; default: 70 s for each attempt.",
)
@click.option(
    "--orders",
    type=click.IntRange(0, 23),
    default=0,
    show_default=True,
    help="Further orders of its options in which each task is asked.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Of the orders and the arrivals.")
@click.option(
    "--suite",
    metavar="NAME|FILE.toml",
    help=f"The files are a suite's ({', '.join(suite_names())}): checked, and beside what others got.",
)
@click.option(
    "--limit", type=click.IntRange(1), help="Only the first tasks, for a quick look; a larger one goes on."
)
@chat_options
@table_options
@target_options
@json_option
def run(
    *,
    arguments: tuple[str, ...],
    output: Path,
    url: str | None,
    form: FormName | None,
    concurrency: int | None,
    rate: float | None,
    timeout: float | None,
    orders: int,
    seed: int,
    limit: int | None,
    suite: str | None,
    chat: Chat,
    columns: Columns | None,
    on_this_machine: bool,
    profile: str | None,
    as_json: bool,
) -> None:
    """Ask labelled tasks, keep every answer.

    Asks the endpoint of ENV, or the server at --url, every task of the files TASKS, writes each answer to the
    run file as it comes, and prints the report in the end. Ctrl-C stops it; the same command goes on there.
    Exits with 1 where it cannot go on, where the first replies hold no answer, and where no task got one.

    A task is a line of JSON: a decision with "expected" beside it, or a row of JevBench; or a row of a
    table, of which --state, --expected, --question and --options say what is asked. The server is an adapter
    (--as decision), any server of System One (system-one), or one that answers in words (chat): an
    OpenAI-style chat endpoint, or with --body and --answer-path an API of your own.

    \b
    Examples:
      semif evaluate run --url http://127.0.0.1:8080 examples/labelled.jsonl -o run.jsonl
      semif evaluate run dev tasks.jsonl -o dev.jsonl --concurrency 4 --orders 2
      semif evaluate run dev tasks.jsonl -o load.jsonl --rate 5
      semif evaluate run dev --suite jevbench easy.jsonl original.jsonl hard.jsonl -o cpu.jsonl
      semif evaluate run dev tickets.csv -o dev.jsonl --state text --expected team \\
        --question "Which team?" --options options.toml --slice language,channel
      semif evaluate run --url http://127.0.0.1:8081 --as chat tasks.jsonl -o chat.jsonl
      semif evaluate run --url https://api.example.com/v1 --as chat --model NAME --system @system.txt \\
        --prompt "{state}" --header "Authorization: Bearer env:API_KEY" tasks.jsonl -o llm.jsonl
      semif evaluate run --url https://classifier.example.com/predict --as chat --body body.json \\
        --answer-path result.label tasks.jsonl -o ours.jsonl
    """
    need_evaluate_extra()
    if not arguments or (url is None and len(arguments) < 2):
        raise click.UsageError("give ENV and files of tasks, or --url URL and files of tasks")
    if url is not None and not Path(arguments[0]).exists() and _is_environment(arguments[0]):
        raise click.UsageError(f"{arguments[0]} is an environment; give ENV or --url, not both")
    if url is not None and (on_this_machine or profile):
        raise click.UsageError("--url asks a server directly, --local and --profile choose an AWS; give one")
    if rate is not None and concurrency is not None:
        raise click.UsageError(
            "--rate sends whether answers come or not, --concurrency waits for them; give one"
        )
    files = arguments if url is not None else arguments[1:]
    sets = read_task_sets([Path(file) for file in files], columns)
    asked_suite = None if suite is None else load_suite(suite)
    if asked_suite is not None:
        sets = of_suite(asked_suite, sets)
    asking = Asking(concurrency=concurrency or 1, rate=rate, orders=orders, seed=seed, limit=limit)
    connections = concurrency or (1 if rate is None else MAX_IN_FLIGHT)
    if url is not None:
        target = url_target(
            url,
            form or "decision",
            connections=connections,
            api_key=api_key(),
            chat=chat.request,
            headers=chat.headers,
            secrets=chat.secrets,
            timeout=timeout,
        )
    else:
        where = open_target(arguments[0], on_this_machine=on_this_machine, profile=profile)
        target = endpoint_target(where, form, connections=connections, chat=chat.request, timeout=timeout)
    own_key = bool(chat.secrets)  # in a header: the variable of an adapter's key is not what is wrong
    with key_remedy(None if own_key else url), closing(target), count_on_stderr(output.name) as on_answer:
        try:
            evaluate(target, sets, asking, output, on_answer, suite=asked_suite)
        except (DecisionError, NoAnswersError, KeyboardInterrupt):
            if output.exists():
                click.echo(f"semif: {output} keeps the answers; the same command goes on there", err=True)
            raise
    from semif.cli.evaluate.printing import print_report  # noqa: PLC0415 - heavy, and an extra

    summary = print_report(output, html=None, markdown_file=None, as_json=as_json)
    if not summary.answered.part:
        raise SemifError(f"no task got a valid answer; {output} has what came instead, {_mostly(output)}")


def _mostly(output: Path) -> str:
    """What came most often in place of an answer."""
    errors = [record.error for record in read_run(output).records]
    words = Counter(
        "words that name no option" if error is None else error.message or error.code for error in errors
    )
    ((most, count),) = words.most_common(1)
    return f"{count} of {len(errors)} times: {' '.join(most.split())}"


def _is_environment(name: str) -> bool:
    try:
        return name in environment_names()
    except SemifError:  # no project is here, and --url needs none
        return False
