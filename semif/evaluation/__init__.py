"""Labelled tasks, asked and judged: what a model's answers are worth."""
