"""What is seen of an endpoint as it is: deployed, asked, compared with this machine, logged, overloaded."""

import json
import re
import secrets
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path

from semif.aws.container_log import LogLine, read_log
from semif.aws.stacks import find_stack
from semif.builds.environment_builds import build_environment
from semif.client.chat import chat_request, stream
from semif.client.client import DecisionClient
from semif.client.errors import OverloadedError
from semif.client.request import request_body
from semif.client.retry import Retry
from semif.deployment import stages
from semif.deployment.first_answer import first_answer
from semif.deployment.modes import deployed_mode
from semif.errors import ProblemsError, SemifError
from semif.evaluation.asking.evaluation import evaluate
from semif.evaluation.asking.targets import endpoint_target
from semif.evaluation.runs.run_file import Asking, read_run
from semif.evaluation.tasks.task_sets import read_task_sets
from semif.models.presets import Preset
from semif.target.account import check_account
from semif.target.target import Target
from semif.verify.step import Bench, SurpriseError
from semif.verify.steps.reference import local_adapter

EXAMPLES = ("routing.json", "yes-or-no.json", "two-questions.json")
"""Of examples/: what is asked, and compared."""
TASKS = "labelled.jsonl"
_TASKS = 6
"""Of them; what they are worth is for an evaluation to say."""
_THREADS = 24
"""That overload a container together."""
_ROUNDS = 5
_LOG_SECONDS = 600.0
"""CloudWatch Logs shows lines within seconds; nothing is promised."""


def deploy(bench: Bench) -> str:
    """The whole chain; what has been built before is not built again.

    The bucket, the image and the builds of the first form serve the others too: its Artifacts stack stays.
    """
    target = bench.target()
    _prepare(bench, target)
    artifacts = target.environment.artifacts_stack
    if target.environment.preset is not None and find_stack(target.aws, artifacts) is None:
        stages.deploy_artifacts(target, bench.tell)
    build_environment(
        target, lambda builds: bench.tell(", ".join(f"{b.name}: {b.phase}" for b in builds)), bench.tell
    )
    lock = stages.deploy_endpoint(target, bench.tell, lambda look: bench.tell(look.summary))
    running = deployed_mode(target.environment).running(target, lock)
    if running.problems:
        raise SurpriseError("\n".join(running.problems))
    return f"{running.verdict}; {', '.join(' '.join(row[1:]) for row in running.rows)}"


def first_answer_of(bench: Bench) -> str:
    """A small request of its kind, and for words a stream of them."""
    target = bench.target()
    first_answer(target)
    if not target.environment.serving_kind.streams_words:
        return "answered"
    body = chat_request("Which colour is the sky?", max_tokens=32, temperature=0.0, stream=True)
    pieces = list(stream(target.aws, target.environment.endpoint_name, body))
    if len(pieces) < 2:
        raise SurpriseError(f"a stream of words came in {len(pieces)} piece")
    return f"answered, and streamed in {len(pieces)} pieces"


def ask(bench: Bench) -> str:
    """The examples, each once."""
    target = bench.target()
    preset, client = target.environment.preset, target.decision_client()
    results = [result for name in EXAMPLES for result in client.ask(_example(target, name)).results]
    models = {result.model.sha256 for result in results}
    if isinstance(preset, Preset) and models != {preset.model.sha256}:
        raise SurpriseError(
            f"the answers are of the models {', '.join(sorted(models))}, pinned is {preset.model.sha256}"
        )
    return f"{len(results)} answers to {len(EXAMPLES)} requests, all of the pinned model"


def labelled(bench: Bench) -> str:
    """Some labelled tasks, as `semif evaluate run` asks them."""
    where = bench.target()
    sets = read_task_sets([where.root / "examples" / TASKS])
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "run.jsonl"
        with closing(endpoint_target(where, None, connections=2)) as target:
            evaluate(target, sets, Asking(concurrency=2, limit=_TASKS), output, lambda _done, _of: None)
        statuses = [record.status for record in read_run(output).records]
    if statuses != ["answered"] * _TASKS:
        raise SurpriseError(f"the tasks were {', '.join(statuses)}")
    return f"{len(statuses)} tasks of examples/{TASKS} answered"


def compare(bench: Bench) -> str:
    """The same examples on this machine's adapter, with the same file."""
    target = bench.target()
    client, differences = target.decision_client(), list[float]()
    bench.tell("starting the adapter on this machine")
    with local_adapter(target.environment) as here:
        for name in EXAMPLES:
            body = _example(target, name)
            for there, ours in zip(client.ask(body).results, here.ask(body).results, strict=True):
                if there.model.sha256 != ours.model.sha256:
                    raise SurpriseError(f"{there.model.sha256} answers there, {ours.model.sha256} here")
                pairs = zip(there.probabilities, ours.probabilities, strict=True)
                differences += [abs(one - other) for one, other in pairs]
    said = (
        f"{len(differences)} probabilities differ by {max(differences):.2g} at most, "
        f"{bench.tolerance:g} is allowed"
    )
    if max(differences) > bench.tolerance:
        raise SurpriseError(said)
    return said


def logs(bench: Bench) -> str:
    """The container's lines arrive, one of them with the id of a call, and no word of a request in any."""
    target = bench.target()
    word = f"word{secrets.token_hex(8)}"
    sought = "."  # not every build of llama-server writes a line of a request: of words any line will do
    if target.environment.serving_kind.asks_examples:
        options = [{"id": "yes"}, {"id": "no"}]
        body = {"decision": {"id": "log", "state": word, "question": "Is it?", "options": options}}
        answer = target.decision_client().ask(json.dumps(body).encode())
        of_call = f'"inference_id":"{answer.inference_id}"'
        sought = of_call if target.environment.serving_kind.runs_adapter else "/invocations"
    else:
        first_answer(target)

    def told() -> bool:
        return any(re.search(sought, line.message) for line in _lines(bench, target))

    bench.wait("the container's lines", told, seconds=_LOG_SECONDS, poll_seconds=target.poll_seconds)
    lines = list(_lines(bench, target))
    if any(word in line.message for line in lines):
        raise SurpriseError("the log holds a word of a request's state")
    return f"{len(lines)} lines of {len({line.stream for line in lines})} containers, no word of a request"


def overload(bench: Bench) -> str:
    """More at once than the container takes, until it refuses; afterwards it answers again."""
    target = bench.target()
    environment = target.environment
    client = partial(
        DecisionClient, environment.endpoint_name, sagemaker_runtime=target.aws.sagemaker_runtime
    )
    asking, refused, answered = client(retry=Retry(max_attempts=1), connections=_THREADS), 0, 0
    with ThreadPoolExecutor(_THREADS) as pool:
        for number in range(_ROUNDS):
            words = environment.settings.context_tokens * (number + 1) // (2 * _ROUNDS)  # more each round
            bodies = [_long_request(words, number, at) for at in range(_THREADS)]
            outcomes = list(pool.map(partial(_is_answered, asking), bodies))
            answered, refused = answered + outcomes.count(True), refused + outcomes.count(False)
            if refused:
                break
    if not refused or not answered:
        raise SurpriseError(f"of {answered + refused} requests {refused} were refused, {answered} answered")
    client().ask(_example(target, EXAMPLES[0]))  # waits as long as the server says
    return f"{answered} answered, {refused} refused with 503; afterwards it answered again"


def _is_answered(client: DecisionClient, body: bytes) -> bool:
    try:
        client.ask(body)
    except OverloadedError:
        return False
    return True


def _long_request(words: int, *numbers: int) -> bytes:
    """One whose state no other request has, so that it has to be computed."""
    state = f"case {' '.join(map(str, numbers))}: " + "rain " * words
    options = [{"id": "yes"}, {"id": "no"}]
    decision = {"id": "long", "state": state, "question": "Does it rain?", "options": options}
    return json.dumps({"decision": decision}).encode()


def _prepare(bench: Bench, target: Target) -> None:
    if bench.local:
        stages.bootstrap_local(target, bench.tell)
        return
    target.environment.check_head()
    check = check_account(target.aws, target.environment)
    if check.problems:
        raise ProblemsError("the account", check.problems)
    for warning in check.warnings:
        bench.tell(warning)


def _lines(bench: Bench, target: Target) -> Iterator[LogLine]:
    log = deployed_mode(target.environment).log(target.environment)
    try:
        yield from read_log(target.aws, log, since=bench.began)
    except SemifError:  # the group comes with the first line
        return


def _example(target: Target, name: str) -> bytes:
    path = target.root / "examples" / name
    return request_body(path.read_bytes(), name=str(path))
