"""Where requests and answers lie in the bucket of an asynchronous endpoint; the stack makes it so."""

REQUESTS, ANSWERS, FAILURES = "requests", "answers", "failures"
"""Prefixes, without their slash. SageMaker reads below the first and writes below the others."""
