"""What hostile clients do: pipelines, resets, sides closed early, bombs, texts slow to tokenise."""

import gzip
import json
import random
import socket
import struct
import sys

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

HEAD = b"POST /invocations HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
PING = b"GET /ping HTTP/1.1\r\nHost: x\r\n\r\n"
LONGEST_TEXT = 3_000_000
"""Characters; the body's limit is 4 MiB, also once decompressed."""
SLOW_TEXTS = (
    "<tool_call>",
    "<table>",
    "<|im_start|>",
    " ",
    "\t",
    "a",
    "ab",
    "漢",
    "9",
    "\u200b",
    "e\u0301",
    "a b ",
)
"""What a text is made of: marks of usual vocabularies, spaces, words without an end."""


def slow_text(chance: random.Random) -> str:
    """A long text that tokenisers may be slow on."""
    piece = chance.choice(SLOW_TEXTS)
    return piece * (chance.choice([1_000, 100_000, LONGEST_TEXT]) // len(piece))


def compressed(body: bytes, chance: random.Random) -> tuple[str, bytes]:
    """`body` in a content encoding: its name, and the bytes, some of them broken, doubled or a bomb."""
    if chance.random() < 0.2:
        body = b" " * chance.choice([5_000_000, 50_000_000]) + body
    name = chance.choice(["gzip", "zstd"])
    data = gzip.compress(body, 1) if name == "gzip" else zstd.compress(body)
    match chance.randrange(6):
        case 0:
            data = data[: chance.randrange(len(data))]
        case 1:
            data += data
        case 2:
            data += chance.randbytes(9)
    return name, data


def post(body: bytes, *headers: bytes) -> bytes:
    """The bytes of one request."""
    return (
        HEAD + b"".join(line + b"\r\n" for line in headers) + b"Content-Length: %d\r\n\r\n" % len(body) + body
    )


def misbehave(connection: socket.socket, body: bytes, chance: random.Random) -> bytes | None:
    """Do one of the things that connections are misused for; what came, None where nobody stayed to see."""
    match chance.randrange(4):
        case 0:
            connection.sendall(PING * chance.choice([2, 16, 17, 500]) + post(body) + b"\x00")
        case 1:
            connection.sendall(post(body) + PING * chance.randrange(20))
            connection.shutdown(socket.SHUT_WR)
        case 2:
            request = post(body)
            connection.sendall(request[: chance.randrange(1, len(request) + 1)])
            connection.shutdown(socket.SHUT_WR)
        case _:
            connection.sendall(post(body))
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            return None
    return _received(connection)


def _received(connection: socket.socket) -> bytes:
    data = b""
    while chunk := connection.recv(65_536):
        data += chunk
    return data


def statuses(answers: bytes) -> list[int]:
    """Of a connection's answers, one behind the other, interim ones left out."""
    lines = [part.split(b" ", 1)[0] for part in answers.split(b"HTTP/1.1 ")[1:]]
    return [int(status) for status in lines if status.isdigit() and status != b"100"]


def decision_of(text: str) -> bytes:
    """A body whose state is `text`."""
    options = [{"id": "a"}, {"id": "b"}]
    return json.dumps(
        {"decision": {"id": "t", "state": text, "question": "Which?", "options": options}}
    ).encode()
