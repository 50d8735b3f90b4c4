"""`python -m semif.serve`: the container's program as people's own machines start it."""

import sys

from semif.serve.own_names import by_own_names_only
from semif_adapter.__main__ import start
from semif_adapter.engine.engine import Engine
from semif_adapter.http.server import serve

if __name__ == "__main__":
    start(
        sys.argv[1:],
        lambda settings: serve(
            settings, lambda: Engine.load(settings), lambda adapter: by_own_names_only(adapter, settings.host)
        ),
    )
