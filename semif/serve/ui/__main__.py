"""`python -m semif.serve.ui`: the adapter with the page, set by the same variables."""

import sys

from semif_adapter.http.early_stop import stop_before_serving


def main() -> None:
    """Serve with the page in front, and end the process."""
    stop_before_serving()  # before the imports, which take a second
    from semif.serve.ui.app import WithPage  # noqa: PLC0415
    from semif_adapter.engine.engine import Engine  # noqa: PLC0415
    from semif_adapter.http.server import serve  # noqa: PLC0415
    from semif_adapter.http.start import start  # noqa: PLC0415

    start(
        sys.argv[1:],
        lambda settings: serve(
            settings, lambda: Engine.load(settings), lambda adapter: WithPage(adapter, settings)
        ),
    )


if __name__ == "__main__":
    main()
