"""Prefixes of prompts that stay computed between requests, each on a stream of its own.

A prefix is found again by its segments: system and schema, system and state, or the system alone. What comes
behind it is cut off again; where the model cannot do that, each prefix is kept as a saved state besides, and
the stream goes back to that. Where it can, a prefix whose stream somebody else takes is saved then: so there
may be more prefixes than streams. Segments are always decoded one by one, whole, so a prefix from the cache
holds the same bits as one that is computed for the request. Who is in the middle of a prompt has its stream
alone.
"""

from collections import OrderedDict
from collections.abc import Sequence
from contextlib import AbstractContextManager

from semif_adapter.decoding.prefixes.prefix_name import Kept, Path, common_depth, count_tokens, path_of
from semif_adapter.decoding.steps import Steps
from semif_adapter.decoding.streams import Mark, Stream
from semif_adapter.llama.model import Tokens

_SYSTEM = 1  # a path of the system alone


class PrefixCache:
    """Prefixes on the streams of one context, least recently used out first. One thread only."""

    def __init__(self, streams: Sequence[Stream], *, saved_bytes: int, saves_dropped: bool) -> None:
        """Keep prefixes on `streams`, which are empty; two at least, so that one survives the next.

        Saved states take `saved_bytes` at most, or one does where no tail can be cut. With `saves_dropped`
        prefixes whose stream is taken are saved.
        """
        self._most_bytes = saved_bytes
        self._saves_dropped = saves_dropped
        self._streams = OrderedDict[Stream, Path]((stream, ()) for stream in streams)
        """What each stream holds, maybe with more behind it; least recently used first."""
        self._leased: set[Stream] = set()
        self._kept = Kept()
        self._states: OrderedDict[Path, Mark] = OrderedDict()
        self._state_bytes = 0
        self._known: frozenset[Path] = frozenset()
        """What is there, for other threads; never changed, replaced."""

    def hold(self, segments: Sequence[Tokens]) -> Steps[tuple[Stream, int]]:
        """A stream that holds exactly `segments`, and how many of their tokens had to be computed.

        It is the caller's until `release`; what was appended to it is gone when it is held again. Waits while
        all streams are others'. Raises EngineError as the model does; what was there before and what was
        completed stays usable.
        """
        while not self._free():
            yield ()
        segments = [segment for segment in segments if len(segment)]
        path = path_of(segments)
        stream, depth, saved = self._choose(path)
        self._leased.add(stream)
        try:
            depth = self._take_back(stream, path, depth, saved)
            self._streams.move_to_end(stream)
            computed = 0
            for end in range(depth + 1, len(path) + 1):
                segment = segments[end - 1]
                yield from stream.extend(segment)
                self._streams[stream] = path[:end]
                if not stream.can_cut:
                    self._save(stream, path[:end])
                computed += len(segment)
        except BaseException:
            self.release(stream)
            raise
        for end in range(len(path), 0, -1):
            if path[:end] in self._states:
                self._states.move_to_end(path[:end])
        cuttable = [held for one, held in self._streams.items() if one.can_cut]
        beginnings = (held[:end] for held in cuttable for end in range(1, len(held) + 1))
        self._known = frozenset(self._states).union(beginnings)
        return stream, computed

    def release(self, stream: Stream) -> None:
        """Others may have `stream`."""
        self._leased.remove(stream)

    def prime(self, system: Tokens) -> Steps[None]:
        """Have `system` alone on every stream that nobody has."""
        held: list[Stream] = []
        try:
            # Held at the same time, so that each is another one.
            for _ in self._free():
                stream, _ = yield from self.hold((system,))
                held.append(stream)
        finally:
            for stream in held:
                self.release(stream)

    def keeping(self, segments: Sequence[Tokens]) -> AbstractContextManager[None]:
        """Make others take other streams first, meanwhile, than the one that holds `segments`."""
        return self._kept.keeping(segments)

    def missing(self, segments: Sequence[Tokens]) -> int:
        """How many tokens `hold` would compute, as of the last one. Safe from any thread."""
        path, known = path_of(segments), self._known
        there = next((end for end in range(len(path), 0, -1) if path[:end] in known), 0)
        return count_tokens(path[there:])

    def drop(self) -> None:
        """Forget everything; nobody may have a stream."""
        for stream in self._streams:
            stream.clear()
            self._streams[stream] = ()
        self._states.clear()
        self._state_bytes = 0
        self._known = frozenset()

    def _free(self) -> list[Stream]:
        return [stream for stream in self._streams if stream not in self._leased]

    def _choose(self, path: Path) -> tuple[Stream, int, int]:
        """The stream to compute `path` on, how many segments it has of it, and how many a saved state has.

        Who shares no more than the system takes the stream that was not used for longest, of those whose
        prefix nobody will come back to.
        """
        free = self._free()
        stream = max(free, key=lambda stream: self._usable(stream, path))
        if self._usable(stream, path) <= _SYSTEM:
            stream = min(free, key=lambda stream: self._is_kept(self._streams[stream]))
        saved = next((end for end in range(len(path), 0, -1) if path[:end] in self._states), 0)
        return stream, self._usable(stream, path), saved

    def _is_kept(self, held: Path) -> bool:
        return any(held[: len(kept)] == kept for kept in self._kept)

    def _take_back(self, stream: Stream, path: Path, depth: int, saved: int) -> int:
        """Leave on the stream the first segments of `path` and nothing else; how many."""
        held = self._streams[stream]
        if self._saves_dropped and held != path[: len(held)]:
            stream.rewind(Mark(count_tokens(held), None))
            self._save(stream, held, beside=path[:saved] if saved > depth else ())
        if saved > depth:
            # Before the stream changes: a failure must not leave it with a path that it no longer holds.
            self._streams[stream] = ()
            stream.rewind(self._states[path[:saved]])
            depth = saved
        elif stream.length != (length := count_tokens(path[:depth])):
            stream.rewind(Mark(length, None))
        self._streams[stream] = path[:depth]
        return depth

    def _usable(self, stream: Stream, path: Path) -> int:
        """How many segments of `path` the stream can go on from without a saved state."""
        held = self._streams[stream]
        if stream.can_cut:
            return common_depth(held, path)
        untouched = stream.length == count_tokens(held)
        return len(held) if untouched and held == path[: len(held)] else 0

    def _save(self, stream: Stream, path: Path, beside: Path = ()) -> None:
        """Keep the state of a stream that holds `path` and nothing else, and others only where they fit.

        Not where a tail can be cut and it fits not alone, or not beside the state that is wanted next.
        """
        if path in self._states:
            return
        room = self._most_bytes - stream.state_bytes
        wanted = self._states[beside].size if beside else 0
        if room < wanted and stream.can_cut:
            return
        if beside:
            self._states.move_to_end(beside)
        while self._states and self._state_bytes > room:
            self._state_bytes -= self._states.popitem(last=False)[1].size
        mark = stream.save()
        self._states[path] = mark
        self._state_bytes += mark.size
