"""The programs that `make setup` installed, for tests and what they start: pytest may be run without make."""

import os
import signal
import sys
from pathlib import Path

FOLDERS = (Path(sys.executable).parent, Path(__file__).resolve().parents[3] / "node_modules" / ".bin")

# Here and not in a hook: a conftest file imports the CDK, which starts the first `node` of PATH.
os.environ["PATH"] = os.pathsep.join([*map(str, FOLDERS), os.environ.get("PATH", os.defpath)])

# Every worker and some hundred programs read the same sources: compiled once and kept beside them,
# as is Python's default, whatever the shell says.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# pydantic looks for plugins in the metadata of all that is installed here, a fifteenth of a second in each of
# those programs, and finds none that a test wants.
os.environ["PYDANTIC_DISABLE_PLUGINS"] = "__all__"

# A shell without job control has its programs in the background ignore Ctrl-C, and they have theirs ignore
# it: tests that send it to a command would see nothing happen.
signal.signal(signal.SIGINT, signal.default_int_handler)
