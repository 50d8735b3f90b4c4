"""What can be wrong with a policy across its keys: unknown options, rules that can never decide."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import ValidationError

from semif.errors import shown
from semif.policy.bars import Bar
from semif.policy.reach import contradiction, covers
from semif.policy.rules import PERSON, Fallback, Rule, Veto, When, condition_text
from semif.project.all_problems import KeyPath

_Problems = Iterator[tuple[KeyPath, str]]
_Part = TypeVar("_Part", Rule, Veto, Fallback, Bar)


@dataclass(frozen=True)
class _ValidParts:
    """A policy's parts that are right by themselves, at their positions."""

    options: tuple[str, ...]
    rules: dict[int, Rule]
    vetoes: dict[int, Veto]
    fallback: Fallback | None
    bars: dict[str, Bar]

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> "_ValidParts":
        """Those of what a file or a caller gave; what is wrong by itself is told by its type."""
        thresholds = content.get("thresholds")
        return cls(
            options=tuple(thresholds) if isinstance(thresholds, Mapping) else (),
            rules=_valid(Rule, content.get("rules", ())),
            vetoes=_valid(Veto, content.get("vetoes", ())),
            fallback=_valid(Fallback, [content.get("fallback", Fallback())]).get(0),
            bars=_valid_bars(content.get("endpoints", {})),
        )


def problems_together(content: Mapping[str, Any]) -> _Problems:
    """Place and wording of each, also where a key alone is wrong already."""
    parts = _ValidParts.of(content)
    if PERSON in parts.options:
        yield (
            ("thresholds", PERSON),
            f"no option may be called {PERSON!r}, which stands for a person; rename it",
        )
    yield from _name_problems(parts)
    if parts.options:
        yield from _option_problems(parts)
    for key, rules in (("rules", parts.rules), ("vetoes", parts.vetoes)):
        for position, rule in rules.items():
            if (pair := contradiction(rule.when)) is not None:
                yield (
                    (key, position, "when"),
                    f"{condition_text(pair[0])} and {condition_text(pair[1])} never hold together",
                )
    yield from _order_problems(parts)
    yield from _veto_problems(parts)
    yield from _bar_problems(parts, made_for=content.get("made_for") is not None)


def _name_problems(parts: _ValidParts) -> _Problems:
    seen: set[str] = set()
    for key, rules in (("rules", parts.rules), ("vetoes", parts.vetoes)):
        for position, rule in rules.items():
            if rule.name in seen:
                yield (key, position, "name"), f"{rule.name!r} is another rule's name; outcomes name the rule"
            seen.add(rule.name)
    endpoints = parts.fallback.endpoints if parts.fallback else ()
    for position, endpoint in enumerate(endpoints):
        if endpoint in endpoints[:position]:
            yield ("fallback", "endpoints", position), f"{endpoint!r} is named twice, it is asked once"


def _option_problems(parts: _ValidParts) -> _Problems:
    for place, option, *other in _options_named(parts):
        known = dict.fromkeys((*parts.options, *other))
        if option not in known:
            yield place, f"{shown(option)} is no option with a threshold, known are {', '.join(known)}"


def _options_named(parts: _ValidParts) -> Iterator[tuple[KeyPath, str] | tuple[KeyPath, str, str]]:
    for position, rule in parts.rules.items():
        yield ("rules", position, "then"), rule.then, PERSON
    for position, veto in parts.vetoes.items():
        yield ("vetoes", position, "option"), veto.option
        yield ("vetoes", position, "then"), veto.then, PERSON
    if parts.fallback is not None:
        yield ("fallback", "then"), parts.fallback.then, PERSON


def _bar_problems(parts: _ValidParts, *, made_for: bool) -> _Problems:
    for name, bar in parts.bars.items():
        place: KeyPath = ("endpoints", name)
        if parts.fallback is not None and name not in parts.fallback.endpoints:
            asked = ", ".join(parts.fallback.endpoints) or "none"
            yield place, f"the fallback asks no such endpoint, it asks {asked}; add it there"
        if parts.options and set(bar.thresholds) != set(parts.options):
            known, got = ", ".join(parts.options), ", ".join(map(shown, bar.thresholds))
            yield (*place, "thresholds"), f"must be for the policy's options, {known}; got {got}"
        if made_for and not bar.answerers:
            yield (*place, "answerers"), "is missing: [made_for] says whose answers thresholds are for"
        if bar.answerers and not made_for:
            yield (*place, "answerers"), "goes with [made_for], which says what was asked; add it"


def _order_problems(parts: _ValidParts) -> _Problems:
    """Rules that an earlier one always forestalls."""
    for key, rules in (("rules", parts.rules), ("vetoes", parts.vetoes)):
        before: list[Rule | Veto] = []
        for position, rule in rules.items():
            first = next((other for other in before if _forestalls(other, rule)), None)
            if first is not None:
                yield (
                    (key, position),
                    f"{rule.name!r} can never decide: {first.name!r} before it holds whenever it does",
                )
            before.append(rule)


def _forestalls(first: Rule | Veto, second: Rule | Veto) -> bool:
    if isinstance(first, Veto) and isinstance(second, Veto) and first.option != second.option:
        return False
    return covers(first.when, second.when)


def _veto_problems(parts: _ValidParts) -> _Problems:
    """Options that are given only where a veto forbids them."""
    for position, rule in parts.rules.items():
        yield from _always_vetoed(parts, ("rules", position, "then"), rule.then, rule.when)
    for position, veto in parts.vetoes.items():
        if veto.then == veto.option:
            yield ("vetoes", position, "then"), f"{veto.then!r} is what it forbids; name another option"
        else:
            yield from _always_vetoed(parts, ("vetoes", position, "then"), veto.then, veto.when)
    if parts.fallback is not None:
        yield from _always_vetoed(parts, ("fallback", "then"), parts.fallback.then, ())


def _always_vetoed(parts: _ValidParts, place: KeyPath, option: str, when: Sequence[When]) -> _Problems:
    for veto in parts.vetoes.values():
        if veto.option == option and covers(veto.when, when):
            yield place, f"{option!r} can never be the outcome here: the veto {veto.name!r} forbids it"
            return


def _valid_bars(entries: object) -> dict[str, Bar]:
    """The endpoints' bars that are right, by name."""
    if not isinstance(entries, Mapping):
        return {}
    right = {name: _valid(Bar, [entry]).get(0) for name, entry in entries.items()}
    return {name: bar for name, bar in right.items() if bar is not None}


def _valid(model: type[_Part], entries: object) -> dict[int, _Part]:
    """The entries that are right, by position."""
    right: dict[int, _Part] = {}
    for position, entry in enumerate(entries if isinstance(entries, list | tuple) else ()):
        try:
            right[position] = model.model_validate(entry)
        except ValidationError:
            continue
    return right
