"""Where lines and answers of transform jobs lie in the bucket of an environment; the stack makes it so."""

LINES, ANSWERS = "lines", "answers"
"""Prefixes, without their slash. Jobs read below the first and write below the second."""
