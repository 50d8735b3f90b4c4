"""Connections to a server on this machine: one that is kept alive, and several for requests at once."""

import http.client
import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any
from urllib.parse import urlsplit


class Connection:
    """POSTs JSON over a connection that stays open, as long as the server keeps idle ones."""

    def __init__(self, address: str) -> None:
        url = urlsplit(address)
        self._connection = http.client.HTTPConnection(url.hostname or "", url.port, timeout=600)

    def post(self, path: str, document: Any) -> tuple[int, Any]:
        """Status and body of the reply."""
        self._connection.request("POST", path, json.dumps(document), {"content-type": "application/json"})
        reply = self._connection.getresponse()
        return reply.status, json.loads(reply.read())

    def need(self, path: str, document: Any) -> Any:
        """The body of a reply that must be 200; RuntimeError where it is not."""
        status, body = self.post(path, document)
        if status != 200:
            raise RuntimeError(f"{path} answered {status}: {json.dumps(body)[:500]}")
        return body

    def close(self) -> None:
        """Hang up."""
        self._connection.close()


def need_all(address: str, path: str, documents: Sequence[Any], connections: int) -> None:
    """POST all of `documents` over so many connections at once, each of them taking its share in turn."""

    def ask(share: Sequence[Any]) -> None:
        with closing(Connection(address)) as connection:
            for document in share:
                connection.need(path, document)

    connections = min(connections, len(documents))
    with ThreadPoolExecutor(connections) as threads:
        list(threads.map(ask, [documents[first::connections] for first in range(connections)]))
