"""The folders of an environment's bucket in which requests and answers lie; the stack makes it so.

All are prefixes, without their slash.
"""

REQUESTS, ANSWERS, FAILURES = "requests", "answers", "failures"
"""An asynchronous endpoint reads below the first and writes below the others."""
LINES = "lines"
"""Transform jobs read below it, and write below ANSWERS."""
