"""Each measure against an example worked by hand, an independent formula, or scikit-learn's."""

import itertools
import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

from semif.evaluation.figures.measures import (
    brier_score,
    expected_calibration_error,
    log_loss,
    paired_p_value,
    reliability,
    share,
    share_of,
    spread,
)

judged = st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=60)
counts = st.integers(1, 400).flatmap(lambda whole: st.tuples(st.integers(0, whole), st.just(whole)))


def test_wilsons_interval_is_the_published_one() -> None:
    # R. G. Newcombe, 1998, Statistics in Medicine 17, 857-872, table I, method 3 (score, uncorrected).
    for part, whole, low, high in [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0, 0.1611)]:
        found = share(part, whole)
        assert (found.low, found.high) == pytest.approx((low, high), abs=5e-5)
        assert found.value == part / whole


@given(counts)
def test_an_interval_holds_its_share_and_mirrors(case: tuple[int, int]) -> None:
    part, whole = case
    found, mirrored = share(part, whole), share(whole - part, whole)
    assert 0 <= found.low <= found.value <= found.high <= 1
    assert (found.low, found.high) == pytest.approx((1 - mirrored.high, 1 - mirrored.low), abs=1e-9)
    z = 1.959963984540054
    half = z * math.sqrt(part * (whole - part) / whole + z * z / 4) / (whole + z * z)
    assert found.high - found.low == pytest.approx(2 * half, abs=1e-9)


def test_calibration_error_of_a_worked_example() -> None:
    # (0.5, 0.6]: two of confidence 0.58, one right; (0.8, 0.9]: three of 0.82, all right.
    confidence, right = [0.56, 0.6, 0.81, 0.82, 0.83], [True, False, True, True, True]
    low, high = reliability(confidence, right)
    assert (low.low, low.high, high.low, high.high) == pytest.approx((0.5, 0.6, 0.8, 0.9))
    assert (low.confidence, low.right.value, low.right.whole) == pytest.approx((0.58, 0.5, 2))
    assert (high.confidence, high.right.value, high.right.whole) == pytest.approx((0.82, 1.0, 3))
    error = expected_calibration_error(confidence, right)
    assert error == pytest.approx((2 * 0.08 + 3 * 0.18) / 5)


@given(judged, st.integers(1, 20))
def test_bins_hold_every_decision_once(cases: list[tuple[float, bool]], bins: int) -> None:
    confidence, right = zip(*cases, strict=True)
    found = reliability(confidence, right, bins)
    assert sum(one.right.whole for one in found) == len(cases)
    assert sum(one.right.part for one in found) == sum(right)
    for one in found:
        assert one.low <= one.confidence + 1e-12
        assert one.confidence <= one.high + 1e-12
    assert 0 <= expected_calibration_error(confidence, right, bins) <= 1
    if bins == 1:
        distance = abs(np.mean(confidence) - np.mean(right))
        assert expected_calibration_error(confidence, right, 1) == pytest.approx(distance)


def test_edges_belong_to_the_lower_bin() -> None:
    assert [(one.low, one.high) for one in reliability([0.0, 0.5, 1.0], [True, True, False], 2)] == [
        (0, 0.5), (0.5, 1),
    ]  # fmt: skip
    assert reliability([0.0, 0.5, 1.0], [True, True, False], 2)[0].right.whole == 2


@given(st.lists(st.tuples(st.floats(0.001, 0.999), st.booleans()), min_size=2, max_size=40))
def test_losses_of_two_options_are_scikit_learns(cases: list[tuple[float, bool]]) -> None:
    first, truth = zip(*cases, strict=True)
    rows = [[p, 1 - p] for p in first]
    places = [0 if is_first else 1 for is_first in truth]
    halved = metrics.brier_score_loss(np.array(truth), first, pos_label=True)
    assert brier_score(rows, places) == pytest.approx(2 * halved)
    assert log_loss(rows, places) == pytest.approx(metrics.log_loss(places, rows, labels=[0, 1]))


@given(st.integers(2, 30))
def test_losses_of_guessing_and_of_certainty(options: int) -> None:
    evenly = [1 / options] * options
    certain = [1.0] + [0.0] * (options - 1)
    assert brier_score([evenly], [options - 1]) == pytest.approx(1 - 1 / options)
    assert log_loss([evenly], [0]) == pytest.approx(math.log(options))
    assert brier_score([certain, certain], [0, 1]) == pytest.approx((0 + 2) / 2)
    assert log_loss([certain], [0]) == 0
    assert log_loss([certain], [1]) == pytest.approx(-math.log(1e-15))


def test_decisions_of_different_sizes_are_judged_together() -> None:
    rows: Sequence[Sequence[float]] = [[0.5, 0.5], [0.25, 0.25, 0.5]]
    assert brier_score(rows, [0, 2]) == pytest.approx((0.5 + (0.0625 + 0.0625 + 0.25)) / 2)
    assert log_loss(rows, [0, 2]) == pytest.approx(math.log(2))


def test_percentiles_lie_between_the_two_nearest_values() -> None:
    found = spread([4, 1, 3, 2])  # sorted: positions 0 to 3
    assert (found.p50, found.p90, found.p95, found.p99) == pytest.approx((2.5, 3.7, 3.85, 3.97))
    assert (found.count, found.mean, found.lowest, found.highest) == (4, 2.5, 1, 4)


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=50))
def test_percentiles_are_in_order(values: list[float]) -> None:
    found = spread(values)
    ordered = [found.lowest, found.p50, found.p90, found.p95, found.p99, found.highest]
    assert all(low <= high + 1e-6 for low, high in pairwise(ordered))


def split(first: int, second: int, group_size: int = 1) -> tuple[list[bool], list[bool], list[str]]:
    """So many tasks that only one of two got right, and five that both did; groups of `group_size`."""
    pairs = [(True, False)] * first + [(False, True)] * second + [(True, True)] * 5
    groups = [str(place // group_size) for place in range(len(pairs))]
    return [one for one, _ in pairs], [other for _, other in pairs], groups


def test_mcnemar_of_a_worked_example() -> None:
    # 1 against 9: both tails of ten throws of a coin, 2 * (1 + 10) / 1024.
    assert paired_p_value(*split(1, 9)) == pytest.approx(22 / 1024)
    assert paired_p_value(*split(0, 0)) == 1
    assert paired_p_value(*split(5, 5)) == 1


@given(st.integers(0, 60), st.integers(0, 60))
def test_each_task_by_itself_is_twice_the_smaller_tail(first: int, second: int) -> None:
    throws = first + second
    tail = sum(math.comb(throws, k) for k in range(min(first, second) + 1)) / 2**throws
    assert paired_p_value(*split(first, second)) == pytest.approx(min(1.0, 2 * tail))
    assert paired_p_value(*split(first, second)) == paired_p_value(*split(second, first))


@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.sampled_from("abcde")), min_size=1, max_size=20))
def test_groups_are_turned_whole_in_every_way(tasks: list[tuple[bool, bool, str]]) -> None:
    """Against all ways written out."""
    first, second, groups = (list(column) for column in zip(*tasks, strict=True))
    sums = [sum(one - other for one, other, name in tasks if name == group) for group in set(groups)]
    ways = [
        abs(sum(sign * value for sign, value in zip(signs, sums, strict=True)))
        for signs in itertools.product((1, -1), repeat=len(sums))
    ]
    expected = sum(way >= abs(sum(sums)) for way in ways) / len(ways)
    assert paired_p_value(first, second, groups) == pytest.approx(expected)


def test_variants_of_few_cases_show_less_than_as_many_cases() -> None:
    assert paired_p_value(*split(3, 18)) == pytest.approx(0.00149, abs=1e-5)
    assert paired_p_value(*split(3, 18, group_size=3)) == pytest.approx(16 / 128), "1 against 6 groups"


def test_an_interval_over_groups_is_that_of_as_many_cases_where_groups_are_all_alike() -> None:
    """Three tasks a group that are all right or all wrong tell what one of them does."""
    hits = [True] * 24 + [False] * 6
    grouped = share_of([hit for hit in hits for _ in range(3)], [str(place // 3) for place in range(90)])
    apart = share_of(hits, [str(place) for place in range(30)])
    assert apart == share(24, 30)
    assert (grouped.part, grouped.whole, grouped.value, grouped.groups) == (72, 90, 0.8, 30)
    # A little wider than Wilson's of 24 of 30: Student's quantile, and groups - 1 for the variance.
    assert apart.low - 0.02 < grouped.low < apart.low
    assert apart.high < grouped.high < apart.high + 0.02
    assert grouped.high - grouped.low > 1.6 * (share(72, 90).high - share(72, 90).low)


@given(st.lists(st.tuples(st.booleans(), st.sampled_from("abcd")), min_size=1, max_size=30))
def test_an_interval_over_groups_holds_its_share_and_mirrors(tasks: list[tuple[bool, str]]) -> None:
    hits, groups = [hit for hit, _ in tasks], [name for _, name in tasks]
    found, mirrored = share_of(hits, groups), share_of([not hit for hit in hits], groups)
    assert 0 <= found.low <= found.value <= found.high <= 1
    assert (mirrored.low, mirrored.high) == pytest.approx((1 - found.high, 1 - found.low))
    plain = share(sum(hits), len(hits))
    assert found.high - found.low >= plain.high - plain.low - 1e-9, "never narrower than of as many cases"


def test_all_right_in_few_groups_is_no_proof() -> None:
    assert share_of([True] * 90, [str(place // 30) for place in range(90)]).low < 0.25
    assert share_of([True] * 90, ["one"] * 90).low == 0


def test_an_interval_over_groups_holds_the_truth_as_often_as_it_says() -> None:
    """Groups of five whose tasks share a chance drawn from a beta distribution of mean 0.7."""
    chance = np.random.default_rng(1)
    held = {"grouped": 0, "apart": 0}
    rounds = 400
    for _ in range(rounds):
        hits = (chance.random((40, 5)) < chance.beta(1.4, 0.6, 40)[:, None]).ravel().tolist()
        grouped = share_of(hits, [str(place // 5) for place in range(200)])
        held["grouped"] += grouped.low <= 0.7 <= grouped.high
        apart = share(sum(hits), 200)
        held["apart"] += apart.low <= 0.7 <= apart.high
    assert held["grouped"] / rounds >= 0.93
    assert held["apart"] / rounds < 0.85, "what the groups are there for"
