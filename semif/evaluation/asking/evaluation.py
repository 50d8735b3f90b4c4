"""An evaluation from its tasks to its run file."""

from collections.abc import Callable, Sequence
from pathlib import Path

from semif.evaluation.asking.asked_server import AskedTarget
from semif.evaluation.asking.concurrency import ask_all
from semif.evaluation.asking.first_replies import FirstReplies
from semif.evaluation.runs.new_run import new_header
from semif.evaluation.runs.run_file import Asking
from semif.evaluation.runs.run_writer import open_run
from semif.evaluation.tasks.labelled_tasks import TaskSet
from semif.evaluation.tasks.option_orders import ordered_tasks
from semif.evaluation.tasks.suite import Suite


def evaluate(
    target: AskedTarget,
    sets: Sequence[TaskSet],
    asking: Asking,
    output: Path,
    on_answer: Callable[[int, int], None],
    *,
    suite: Suite | None = None,
) -> None:
    """Ask the tasks of `sets`, write each answer to `output` as it comes; goes on where `output` stopped.

    `on_answer` is told how many answers there are, and of how many, at first and after each. Raises
    DecisionError where the target cannot be asked, NoAnswersError where the first replies of a new run hold
    none, and as `open_run` does; the file holds what came before.
    """
    header = new_header(sets, target.name, target.probe(), asking, suite=suite)
    tasks = [task for file in sets for task in file.tasks][: asking.limit]
    planned = ordered_tasks(tasks, asking.orders, asking.seed, only_choices=target.form.only_choices)
    with open_run(output, header) as run:
        answered = {(record.task, record.order) for record in run.earlier}
        waiting = [ordered for ordered in planned if (ordered.task.id, ordered.order) not in answered]
        done, total = len(planned) - len(waiting), len(planned)
        on_answer(done, total)
        first = None if run.earlier else FirstReplies(target.form)
        for record in ask_all(target, waiting, asking):
            run.append(record)
            done += 1
            on_answer(done, total)
            if first is not None:
                first.check(record, total - done)
