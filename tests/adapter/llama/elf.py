"""Changes bytes of a copy of a shared library (64-bit ELF), in place and without a compiler."""

import struct
from pathlib import Path

_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_MACHINE_AT = 18
AARCH64 = 183
_SYMBOL_TABLES = (2, 11)  # SHT_SYMTAB, SHT_DYNSYM


class Elf:
    """The bytes of one library, to be changed and written elsewhere."""

    def __init__(self, path: Path) -> None:
        self.data = bytearray(path.read_bytes())
        (at,), (count,) = struct.unpack_from("<Q", self.data, 0x28), struct.unpack_from("<H", self.data, 0x3C)
        self._sections = [
            _SECTION.unpack_from(self.data, at + index * _SECTION.size) for index in range(count)
        ]
        self._names: dict[str, list[int]] = {}
        self._bodies: dict[str, tuple[int, int]] = {}
        for _, kind, _, _, offset, size, link, *_ in self._sections:
            if kind in _SYMBOL_TABLES:
                self._read_symbols(offset, size, names_at=self._sections[link][4])

    def _read_symbols(self, offset: int, size: int, names_at: int) -> None:
        for entry in range(offset, offset + size, _SYMBOL.size):
            name, _, _, section, address, length = _SYMBOL.unpack_from(self.data, entry)
            at = names_at + name
            text = self.data[at : self.data.index(0, at)].decode()
            self._names.setdefault(text, []).append(at)
            if 0 < section < len(self._sections):
                _, _, _, start, file_start, *_ = self._sections[section]
                self._bodies[text] = (address - start + file_start, length)

    def function(self, part: str) -> tuple[int, int]:
        """Offset in the file and length of the one function whose symbol holds `part`."""
        (body,) = {body for name, body in self._bodies.items() if part in name and ".cold" not in name}
        return body

    def replace(self, old: bytes, new: bytes, *, function: str | None = None) -> None:
        """Put `new` in place of `old`, which is there once: in the whole file or in `function`."""
        start, length = self.function(function) if function else (0, len(self.data))
        assert len(old) == len(new)
        assert self.data.count(old, start, start + length) == 1
        at = self.data.index(old, start, start + length)
        self.data[at : at + len(new)] = new

    def set_code(self, function: str, code: bytes) -> None:
        """Make `function` begin with the machine code `code`."""
        start, length = self.function(function)
        assert len(code) <= length
        self.data[start : start + len(code)] = code

    def rename(self, symbol: str, new: str) -> None:
        """Call `symbol` otherwise, with a name of the same length: nobody finds it any more."""
        assert len(symbol) == len(new)
        for at in self._names[symbol]:
            self.data[at : at + len(new)] = new.encode()

    def set_machine(self, machine: int) -> None:
        """Claim to be built for another processor."""
        struct.pack_into("<H", self.data, _MACHINE_AT, machine)
