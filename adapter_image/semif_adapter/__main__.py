"""`python -m semif_adapter serve`: what the container starts. SageMaker passes `serve`, the default too.

The imports take a second, and on a busy machine several. A stop that comes meanwhile ends the process as one
that comes while the model loads, so the signals are seen to before anything else is imported. As process 1,
which has no signal's default action, the container would otherwise hear of no stop until it serves.
"""

import gc
import sys

from semif_adapter.http.early_stop import stop_before_serving


def main() -> None:
    """Serve what the variables say, and end the process."""
    stop_before_serving()
    gc.disable()  # the imports leave no garbage, and a tenth of their time would go into looking for it
    from semif_adapter.engine.engine import Engine  # noqa: PLC0415 - see above
    from semif_adapter.http.server import serve  # noqa: PLC0415
    from semif_adapter.http.start import start  # noqa: PLC0415

    gc.freeze()
    gc.enable()
    start(sys.argv[1:], lambda settings: serve(settings, lambda: Engine.load(settings)))


if __name__ == "__main__":
    main()
