"""The adapter's process with a scripted engine that waits, for what real weights do not do on request."""

WAITING_ENGINE = """
import os, signal, sys
from semif_adapter.http.start import start
from semif_adapter.http.server import serve
from semif_adapter.serving import line_writer
from tests.support.models.scripted_engine import ScriptedEngine

line_writer.MOST_BYTES = int(os.environ.get("LOG_BYTES", line_writer.MOST_BYTES))
dead = False
again = None

def wait(*_):
    global dead, again
    if again is None:
        print("waiting", flush=True)
        word = sys.stdin.readline().strip()
        again = word if word in ("fault", "dead") else None
    else:
        word, again = again, None
    dead = word == "dead"
    if word == "kill":
        os.kill(os.getpid(), signal.SIGILL)
    if word in ("fault", "dead"):
        raise ValueError(word)

def prove():
    if dead:
        raise ValueError("dead")

def load():
    wait()
    return ScriptedEngine(wait, prove=prove)

start([], lambda settings: serve(settings, load))
"""
"""An engine that waits: for a line on standard input before it has loaded, for another before each answer.

What the line says happens then: `fault` fails this answer, when it is run once more too, `dead` the engine,
`kill` the process. LOG_BYTES may bound what of the log waits for its reader."""
