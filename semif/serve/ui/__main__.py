"""`python -m semif.serve.ui`: the adapter with the page, set by the same variables."""

import sys

from semif.serve.ui.app import WithPage
from semif_adapter.__main__ import start
from semif_adapter.engine.engine import Engine
from semif_adapter.http.server import serve

if __name__ == "__main__":
    start(
        sys.argv[1:],
        lambda settings: serve(
            settings, lambda: Engine.load(settings), lambda adapter: WithPage(adapter, settings)
        ),
    )
