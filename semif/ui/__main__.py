"""`python -m semif.ui`: the adapter with the page, set by the same variables."""

import sys

from semif.ui.app import WithPage
from semif_adapter.__main__ import start
from semif_adapter.engine import Engine
from semif_adapter.server import serve

if __name__ == "__main__":
    start(
        sys.argv[1:],
        lambda settings: serve(
            settings, lambda: Engine.load(settings), lambda adapter: WithPage(adapter, settings)
        ),
    )
