"""Labelled tasks, asked and judged: what a model's answers are worth."""

from semif.evaluation.runs.load_run import load_run

__all__ = ["load_run"]
