"""`python -m semif.serve`: the container's program as people's own machines start it."""

import sys

from semif_adapter.http.early_stop import stop_before_serving


def main() -> None:
    """Serve to those who ask for this machine by its own names, and end the process."""
    stop_before_serving()  # before the imports, which take a second
    from semif.serve.own_names import by_own_names_only  # noqa: PLC0415
    from semif_adapter.engine.engine import Engine  # noqa: PLC0415
    from semif_adapter.http.server import serve  # noqa: PLC0415
    from semif_adapter.http.start import start  # noqa: PLC0415

    start(
        sys.argv[1:],
        lambda settings: serve(
            settings, lambda: Engine.load(settings), lambda adapter: by_own_names_only(adapter, settings.host)
        ),
    )


if __name__ == "__main__":
    main()
