"""Who may be asked for on this machine: the adapter by this machine's own names."""

from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.types import ASGIApp

from semif.serve.local_adapter import is_own_name


def by_own_names_only(app: ASGIApp, host: str) -> ASGIApp:
    """`app`, refused to whoever asks for another name than `host`, 127.0.0.1 or localhost.

    A name that somebody else's DNS points to this machine is one: a web page elsewhere could otherwise ask
    and read. There is no CORS either. Where `host` is no address of this machine alone, people ask by names
    that nobody here knows, and all are taken.
    """
    if not is_own_name(host):
        return app
    return TrustedHostMiddleware(app, ["127.0.0.1", "localhost", host], www_redirect=False)
