"""The folders of an environment's bucket in which requests and answers lie; the stack makes it so.

All are prefixes, without their slash.
"""

REQUESTS, ANSWERS, FAILURES = "requests", "answers", "failures"
"""An asynchronous endpoint reads below the first and writes below the others."""
CAPTURED = "captured"
"""What SageMaker captures of a realtime endpoint's requests and answers lies below it."""
LINES = "lines"
"""Transform jobs read below it, and write below ANSWERS."""
