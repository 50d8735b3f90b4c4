"""Prefixes of prompts as a tree of sequences that share their cells, for batched mode.

A node is one segment behind its parent's, on a sequence that was forked from the parent's: the cells of a
prefix exist once, however many go on from it. Cells and sequences are counted here, so that llama.cpp never
runs out of them: who needs some gets all of them at once, in order of arrival, and prefixes that nobody uses
give way, least recently used first. Nobody waits for room while he has some, so nobody waits for ever.
"""

from collections import OrderedDict, deque
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import NamedTuple

from semif_adapter.decoding.prefixes.prefix_name import Kept, Path, path_of
from semif_adapter.decoding.steps import Steps, forward
from semif_adapter.llama.context import Context
from semif_adapter.llama.model import Tokens


class Room(NamedTuple):
    """What somebody needs for himself."""

    cells: int = 0
    """Tokens behind the prefix."""
    sequences: int = 0
    rows: int = 0
    """Rows of logits that are kept at once."""


@dataclass(eq=False)
class _Node:
    path: Path
    parent: "_Node | None"
    tokens: Tokens
    sequence: int
    users: int = 0
    children: int = 0
    ready: bool = False
    computing: bool = False

    @property
    def length(self) -> int:
        """Tokens up to its end."""
        return len(self.tokens) + (self.parent.length if self.parent else 0)


@dataclass
class Hold:
    """A prefix and room behind it, somebody's until `release`."""

    room: Room
    sequences: list[int]
    """Empty ones, his own."""
    nodes: list[_Node] = field(default_factory=list)
    computed: int = 0
    """Tokens of the prefix that he had to compute."""

    @property
    def length(self) -> int:
        """Tokens of the prefix."""
        return self.nodes[-1].length if self.nodes else 0


class PrefixTree:
    """Prefixes in a context whose sequences share all cells. One thread only."""

    def __init__(self, context: Context, *, sequences: int, rows: int) -> None:
        """Use all cells of `context`, which is empty, and its `sequences`; keep `rows` of logits at most."""
        self._context = context
        self._whole = Room(context.cells, sequences, rows)
        self._nodes: OrderedDict[Path, _Node] = OrderedDict()
        """Least recently used first."""
        self._kept = Kept()
        self._waiting: deque[object] = deque()
        self.drop()

    def drop(self) -> None:
        """Forget everything; nobody may hold anything. The context is empty."""
        self._cells, sequences, self._rows = self._whole
        self._sequences = list(range(sequences))
        self._nodes.clear()

    def hold(self, segments: Sequence[Tokens], room: Room) -> Steps[Hold]:
        """The prefix `segments`, computed where it is missing, and `room` behind it.

        Waits for room, and for others that compute a part of the prefix.
        """
        segments = [segment for segment in segments if len(segment)]
        ticket = object()
        self._waiting.append(ticket)
        try:
            while self._waiting[0] is not ticket or (hold := self._reserve(segments, room)) is None:
                yield ()
        finally:
            self._waiting.remove(ticket)
        try:
            for node in hold.nodes:
                while not node.ready:
                    if node.computing:
                        yield ()
                    else:
                        yield from self._compute(node)
                        hold.computed += len(node.tokens)
        except BaseException:
            self.release(hold)
            raise
        return hold

    def release(self, hold: Hold) -> None:
        """Give everything back; the prefix stays while there is room."""
        for sequence in hold.sequences:
            self._context.cut(sequence, 0)
        self._sequences += hold.sequences
        self._cells += hold.room.cells
        self._rows += hold.room.rows
        for node in reversed(hold.nodes):
            node.users -= 1
            if not node.ready and not node.users:
                self._remove(node)

    def fork(self, hold: Hold, target: int) -> None:
        """Let the empty sequence `target` hold the prefix."""
        if hold.nodes:
            self._context.fork(hold.nodes[-1].sequence, target)

    def keeping(self, segments: Sequence[Tokens]) -> AbstractContextManager[None]:
        """Make others forget other prefixes first, meanwhile, than `segments`."""
        return self._kept.keeping(segments)

    def missing(self, segments: Sequence[Tokens]) -> int:
        """How many tokens of a prefix are not computed now. Safe from any thread: it only looks names up."""
        path = path_of(segments)
        nodes = [self._nodes.get(path[:end]) for end in range(1, len(path) + 1)]
        known = sum(len(node.tokens) for node in nodes if node is not None and node.ready)
        return sum(map(len, segments)) - known

    def _reserve(self, segments: Sequence[Tokens], room: Room) -> Hold | None:
        """All that is needed, or nothing."""
        path = path_of(segments)
        nodes = [node for end in range(1, len(path) + 1) if (node := self._nodes.get(path[:end]))]
        missing = segments[len(nodes) :]
        for node in nodes:
            node.users += 1
            self._nodes.move_to_end(node.path)
        if not self._make_room(room, missing):
            for node in nodes:
                node.users -= 1
            return None
        self._cells -= room.cells
        self._rows -= room.rows
        hold = Hold(room, [self._sequences.pop() for _ in range(room.sequences)], nodes)
        for segment in missing:
            self._add(hold, path[: len(nodes) + 1], segment)
        return hold

    def _make_room(self, room: Room, missing: Sequence[Tokens]) -> bool:
        cells = room.cells + sum(map(len, missing))
        sequences = room.sequences + len(missing)
        if self._rows < room.rows:
            return False
        while self._cells < cells or len(self._sequences) < sequences:
            unused = [node for node in self._nodes.values() if not node.users and not node.children]
            if not unused:
                return False
            self._remove(min(unused, key=lambda node: node.path in self._kept))
        return True

    def _add(self, hold: Hold, path: Path, segment: Tokens) -> None:
        parent = hold.nodes[-1] if hold.nodes else None
        if parent is not None:
            parent.children += 1
        self._cells -= len(segment)
        node = self._nodes[path] = _Node(path, parent, segment, self._sequences.pop(), users=1)
        hold.nodes.append(node)

    def _remove(self, node: _Node) -> None:
        del self._nodes[node.path]
        if node.parent is not None:
            node.parent.children -= 1
        self._context.cut(node.sequence, 0)
        self._sequences.append(node.sequence)
        self._cells += len(node.tokens)

    def _compute(self, node: _Node) -> Steps[None]:
        node.computing = True
        try:
            self._context.cut(node.sequence, 0)  # what somebody left who was abandoned
            if node.parent is not None:
                self._context.fork(node.parent.sequence, node.sequence)
            start = node.length - len(node.tokens)
            yield from forward(node.sequence, start, node.tokens, 0, self._context.batch_tokens)
            node.ready = True
        finally:
            node.computing = False
