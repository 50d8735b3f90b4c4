"""The memory of requests: what they hold while they are read, checked and computed, all together.

On the event loop's thread.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from semif_adapter.contract.errors import BodyTooLargeError, OverloadedError
from semif_adapter.contract.strict_json import MAX_MARKS, marks_in

BODIES_SHARE = 4
"""The part of the memory, as a divisor, that bodies which are not whole yet may have: clients that are slow
must leave the rest to others."""
TEXT_BYTES = 16
"""That a byte of a body may become: a text of four bytes a character, with its copies in the document, in the
prompt and in tokens. Measured 13 without the tokens."""
VALUE_BYTES = 160
"""That a value of a document takes, in JSON's and pydantic's objects; measured 130."""
TOKENISING_BYTES = 140
"""That llama.cpp takes for a byte of a text while it tokenises it; measured 8 to 133."""
RETRY_SECONDS = 5.0


def document_bytes(body: bytes) -> int:
    """Most memory that a body takes once it is parsed, with its prompts and their tokens.

    One of more values than are allowed is not parsed.
    """
    return TEXT_BYTES * len(body) + VALUE_BYTES * min(marks_in(body), MAX_MARKS)


class Room:
    """Some bytes of memory, and what is held of them."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.held = 0

    @contextmanager
    def hold(self) -> Iterator["Held"]:
        """What one request holds, given back at the end of the block."""
        held = Held(self)
        try:
            yield held
        finally:
            held.let_go()


class RequestMemory:
    """The rooms of a server, two so that neither takes the other's."""

    def __init__(self, size: int) -> None:
        """`size` is what all requests may have, in bytes."""
        self.bodies = Room(size // BODIES_SHARE)
        """Of requests that are being read."""
        self.documents = Room(size - self.bodies.size)
        """Of requests that were."""


class Held:
    """What one request holds of a room, until all who work on it have let it go."""

    def __init__(self, room: Room) -> None:
        self._room = room
        self._bytes = 0
        self._users = 1

    def take(self, count: int) -> None:
        """Hold `count` bytes more.

        Raises OverloadedError where others have the room, BodyTooLargeError where it is too small for this
        request alone.
        """
        size = self._room.size
        if self._bytes + count > size:
            raise BodyTooLargeError(
                f"the request may take {self._bytes + count} bytes of memory, there are {size}; send less"
            )
        if self._room.held + count > size:
            raise OverloadedError(
                f"requests hold {self._room.held} bytes of memory, this one may take {count} more, there are "
                f"{size}",
                retry_after_seconds=RETRY_SECONDS,
            )
        self._bytes += count
        self._room.held += count

    def give_back(self, count: int) -> None:
        """Hold `count` bytes less."""
        self._bytes -= count
        self._room.held -= count

    def share(self) -> None:
        """Somebody else works on it, too, and will let it go."""
        self._users += 1

    def let_go(self) -> None:
        """One of those who work on it has ended."""
        self._users -= 1
        if not self._users:
            self._room.held -= self._bytes
