"""`python -m bench.profile.served FILE`: the adapter, which writes its calls to FILE at the end."""

import json
import os
import sys
from pathlib import Path

from bench.profile.watch import Watch, watch_server
from semif_adapter.contract.settings import Settings
from semif_adapter.engine.engine import Engine
from semif_adapter.http.server import serve
from semif_adapter.llama.libllama import open_library


def main(file: Path) -> int:
    """Serve until SIGTERM, then tell; the server's exit status."""
    settings = Settings.from_env(os.environ)
    watch = Watch()
    watch_server(watch, open_library(settings.library_dir.resolve()))
    status = serve(settings, lambda: Engine.load(settings))
    file.write_text(json.dumps(watch.calls))
    return status


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
