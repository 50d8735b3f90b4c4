"""What has been measured so far, in one run or in several of the same setup."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bench.engine.measuring.names import LOAD, SERVER
from bench.engine.rounds.measure import Results, Samples, Taken

FILE = "report.json"


@dataclass
class Record:
    """Samples of every case and contender, and what they were measured with."""

    setup: dict[str, Any] = field(default_factory=dict)
    """Machine, library, model, commit and settings; the same in all runs."""
    runs: list[dict[str, Any]] = field(default_factory=list)
    """When each began, how busy the machine was, and how many seconds it took."""
    results: Results = field(default_factory=dict)
    decisions: dict[str, int] = field(default_factory=dict)
    """How many a case has."""
    padded: dict[str, int] = field(default_factory=dict)
    """For how many of them the adapter's last pass is padded to a whole tile."""
    loads: dict[str, dict[str, list[Any]]] = field(default_factory=dict)
    """Figures of W4, by server."""
    notes: list[str] = field(default_factory=list)
    labelled: int = 0
    right: int = 0

    @classmethod
    def read(cls, folder: Path) -> "Record":
        """What runs before left in `folder`. Raises ValueError where there is none."""
        try:
            kept = json.loads((folder / FILE).read_text())["record"]
        except (OSError, ValueError, KeyError, TypeError):
            raise ValueError(f"--add: {folder / FILE} is no report to add to; run once without it") from None
        kept["results"] = {
            case: {who: Samples(**taken) for who, taken in by.items()} for case, by in kept["results"].items()
        }
        return cls(**kept)

    def write(self, folder: Path, **more: Any) -> None:
        """Everything, and what was made of it."""
        text = json.dumps({**more, "record": asdict(self)}, indent=1)
        partial = folder / f"{FILE}.partial"
        partial.write_text(text + "\n")
        partial.replace(folder / FILE)

    def check_setup(self, setup: dict[str, Any]) -> None:
        """Raise ValueError where what was measured has another one; take it on where nothing was."""
        setup = json.loads(json.dumps(setup))
        if not self.setup:
            self.setup = setup
        differences = [
            f"{key}: {self.setup.get(key)} there, {setup.get(key)} here"
            for key in {**self.setup, **setup}
            if self.setup.get(key) != setup.get(key)
        ]
        if differences:
            raise ValueError(f"--add: runs differ in {'; '.join(differences)}; measure anew without it")

    @property
    def rounds(self) -> dict[str, int]:
        """How many each case has."""
        counts = {case: len(next(iter(by.values())).wall) for case, by in self.results.items()}
        return counts | ({LOAD: len(self.loads[SERVER]["refused"])} if self.loads else {})

    def add_case(self, name: str, taken: Taken) -> None:
        """A round of a case."""
        by = self.results.setdefault(name, {})
        for who, (wall, cpu) in taken.items():
            samples = by.setdefault(who, Samples())
            samples.wall.append(wall)
            samples.cpu.append(cpu)

    def add_load(self, figures: dict[str, dict[str, Any]]) -> None:
        """A round of W4."""
        for server, told in figures.items():
            kept = self.loads.setdefault(server, {})
            for figure, value in told.items():
                kept.setdefault(figure, []).append(value)
