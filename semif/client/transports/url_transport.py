"""An adapter asked directly, at its address: on this machine, or behind a load balancer of one's own."""

import json
import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from semif.client.errors import AccessError, RequestRefusedError, UnknownReplyError, UnreachableError
from semif.client.reply import container_error
from semif.client.sending.call_ids import CallIds
from semif.client.sending.http_sender import HttpSender, NoReplyError, OversizeReplyError, ProxyAuthError
from semif.client.sending.transport import MEDIA_TYPE, Server, Transport
from semif.errors import SemifError, shown
from semif.web.connections import check_url, proxy_for

ATTEMPT_SECONDS = 70.0
"""As long as for an endpoint: the adapter's own deadline is 55 s."""
_REDIRECTS = {301, 302, 303, 307, 308}


class UrlTransport(Transport):
    """Sends bodies to the adapter at one address."""

    def __init__(
        self,
        url: str,
        *,
        path: str = "/invocations",
        api_key: str | None = None,
        connections: int = 10,
        headers: Mapping[str, str] = MappingProxyType({}),
        secrets: Sequence[str] = (),
        attempt_seconds: float | None = None,
    ) -> None:
        """`url` is the server's base, or the address of its `path`; `headers` are further ones.

        What a server repeats of `secrets` is taken out of what it says, which is kept and shown. An attempt
        may take `attempt_seconds`, by default ATTEMPT_SECONDS.

        Raises SemifError for others, for a proxy that is none, and for a key that no header can hold.
        """
        check_url(url)
        # Without a path the address is whole: a slash at its end may be part of it.
        self._target = url.rstrip("/").removesuffix(path) + path if path else url
        self._headers = {"Content-Type": MEDIA_TYPE, "Accept": MEDIA_TYPE, "Accept-Encoding": "gzip, deflate"}
        if api_key is not None:
            if not re.fullmatch(r"[\x21-\x7e]+", api_key):  # not the key itself: it is a secret
                raise SemifError("the API key must be visible ASCII without spaces; see how it was read")
            self._headers["Authorization"] = f"Bearer {api_key}"
        given = {name.lower() for name in headers}
        self._headers = {name: value for name, value in self._headers.items() if name.lower() not in given}
        self._headers |= headers
        # As they are, and as JSON has them: a quote or a backslash stands behind another one there.
        self._secrets = [form.encode() for one in secrets for form in {one, json.dumps(one)[1:-1]}]
        sender = HttpSender(proxy=proxy_for(url), connections=connections)
        limit = ATTEMPT_SECONDS if attempt_seconds is None else attempt_seconds
        super().__init__(sender, connections=connections, attempt_seconds=limit)

    @property
    def asked(self) -> str:
        """The address."""
        return self._target

    @property
    def server(self) -> Server:
        """The address in its parts."""
        return Server.at(self._target)

    async def exchange(self, body: bytes, ids: CallIds) -> bytes:
        """As `Transport.exchange`."""
        try:
            reply = await self.sender.post(self._target, {**self._headers, **ids.headers}, body)
        except ProxyAuthError as error:
            raise AccessError(f"{self._target} {error.words}", status=407) from None
        except OversizeReplyError as error:
            raise UnknownReplyError(f"{self._target} {error.words}") from None
        except NoReplyError as error:
            raise UnreachableError(f"{self._target} {error.words}; is the adapter running there?") from None
        content = self._without_secrets(reply.body)
        if reply.status in _REDIRECTS:
            elsewhere = reply.headers.get("Location")
            told = shown(self._without_secrets((elsewhere or "").encode()).decode())
            where = f"sends on to {told}, where nothing is sent" if elsewhere else "says not where to"
            raise RequestRefusedError(
                f"{self._target} answered {reply.status} and {where}; give the address that answers itself",
                status=reply.status,
            )
        if reply.status != 200:
            hint = _seconds(reply.headers.get("Retry-After"))
            raise container_error(self._target, reply.status, content, retry_after_seconds=hint)
        return content

    def _without_secrets(self, content: bytes) -> bytes:
        for secret in self._secrets:
            content = content.replace(secret, b"[secret]")
        return content


def _seconds(retry_after: str | None) -> float | None:
    """The header's seconds; None for a date, which no server of ours sends."""
    return float(retry_after) if retry_after and re.fullmatch(r"[0-9]{1,9}", retry_after) else None
