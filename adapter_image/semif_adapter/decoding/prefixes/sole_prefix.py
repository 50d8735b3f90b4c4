"""The prefix of the one request that a context holds, for joined mode; others' are saved, and come back.

It stands in the context's first sequence, always in the same cells, whether it was computed there for the
request, was left there by another, or is put back from its saved state: so it has the same bits. Who has the
context has it alone. A prefix is computed in pieces of a pass each, and may be left between any two of them.
"""

from collections import OrderedDict
from collections.abc import Sequence

from semif_adapter.decoding.prefixes.prefix_name import Path, common_depth, count_tokens, path_of
from semif_adapter.decoding.steps import Steps
from semif_adapter.decoding.streams import Mark, Stream
from semif_adapter.llama.model import Tokens

_SYSTEM = 1  # a path of the system alone


class SolePrefix:
    """What the first sequence of a context holds, and what it held before. One thread only."""

    def __init__(self, stream: Stream, *, saved_bytes: int, restores: bool) -> None:
        """`stream` is empty; with `restores` a state that is put back has the bits of a computed one.

        Saved states take `saved_bytes` at most, or two do that have more.
        """
        self._saved_bytes = saved_bytes
        self.restores = restores
        self._stream = stream
        self._held: Path = ()
        self._states: OrderedDict[Path, Mark] = OrderedDict()
        """Least recently used first."""
        self._leased = False
        self._waiting = 0
        """How many wait for the context; they come to that only in their turn."""
        self._known: frozenset[Path] = frozenset()
        """What is there, for other threads; never changed, replaced."""

    def hold(self, segments: Sequence[Tokens]) -> Steps[int]:
        """Have exactly `segments` in the context, which is the caller's until `release`.

        How many of their tokens had to be computed. Waits while the context is another's; raises EngineError
        as the model does.
        """
        self._waiting += 1
        try:
            while self._leased:
                yield ()
        finally:
            self._waiting -= 1
        self._leased = True
        computed = 0
        try:
            pieces = self.pieces(segments)
            path = path_of(pieces)
            for end in range(self._take_back(path) + 1, len(path) + 1):
                yield from self._stream.extend(pieces[end - 1])
                self._held = path[:end]
                computed += len(pieces[end - 1])
                if end == _SYSTEM and not self._stream.can_cut and self.restores:
                    self._save()  # there is no other way back to it
        except BaseException:
            self.release()
            raise
        beginnings = (self._held[:end] for end in range(1, len(self._held) + 1))
        self._known = frozenset(self._states).union(beginnings if self._stream.can_cut else (self._held,))
        return computed

    def release(self) -> None:
        """Others may have the context."""
        self._leased = False

    def rest(self) -> Steps[None]:
        """Let others who wait have the context, right after a pass; it is nobody's."""
        if self._waiting:
            yield ()

    def spoil(self) -> None:
        """Nobody knows what the context holds where no tail can be cut: a pass over it did not end."""
        if not self._stream.can_cut:
            self._stream.clear()
            self._held = ()

    def pieces(self, segments: Sequence[Tokens]) -> list[Tokens]:
        """`segments` cut as they go through the model, a pass each."""
        return [piece for segment in segments if len(segment) for piece in self._stream.cut(segment)]

    def missing(self, segments: Sequence[Tokens]) -> int:
        """How many tokens `hold` would compute, as of the last one. Safe from any thread."""
        pieces = self.pieces(segments)
        return sum(map(len, pieces[self.depth(pieces) :]))

    def depth(self, pieces: Sequence[Tokens]) -> int:
        """How many of the first `pieces` are there, as of the last `hold`. Safe from any thread."""
        path, known = path_of(pieces), self._known
        return next((end for end in range(len(path), 0, -1) if path[:end] in known), 0)

    def drop(self) -> None:
        """Forget everything; nobody may have the context."""
        self._stream.clear()
        self._held = ()
        self._states.clear()
        self._known = frozenset()

    def _take_back(self, path: Path) -> int:
        """Leave of `path` as much as is there, and nothing else; how many of its pieces."""
        self._leave_only_held()
        shared = common_depth(self._held, path)
        here = shared if self._stream.can_cut or shared == len(self._held) else 0
        saved = next((end for end in range(len(path), here, -1) if path[:end] in self._states), 0)
        mark = self._states.get(path[:saved])  # saving what is held may drop it
        if mark is not None:
            self._states.move_to_end(path[:saved])
        if shared < len(self._held) and self.restores:
            self._save()
        if mark is not None:
            self._held = ()  # a failure must not leave a path that is no longer there
            self._stream.rewind(mark)
            here = saved
        elif here < len(self._held):
            self._cut_to(path[:here])
        self._held = path[:here]
        return here

    def _leave_only_held(self) -> None:
        """Take back what a pass that did not end left."""
        if self._stream.length != count_tokens(self._held):
            self._cut_to(self._held if self._stream.can_cut else ())

    def _cut_to(self, path: Path) -> None:
        if path:
            self._stream.rewind(Mark(count_tokens(path), None))
        else:
            self._stream.clear()
        self._held = path

    def _save(self) -> None:
        """Keep the state of what is held, even where it is too large, and others only beside it."""
        if not self._held or self._held in self._states:
            return
        left = self._saved_bytes - self._stream.state_bytes
        while self._states and sum(each.size for each in self._states.values()) > left:
            self._states.popitem(last=False)
        self._states[self._held] = self._stream.save()
