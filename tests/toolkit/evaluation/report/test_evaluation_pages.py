"""The pages of reports and comparisons, looked at in a real browser."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from semif.cli import main
from semif.evaluation.runs.run_file import Pins, TargetName
from tests.support.pages.browser import looking
from tests.support.runs.synthetic_runs import answers, header, record, unanswered, write_run

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

ATTEMPTS = (
    "<script>document.title='owned'</script>",
    '"><img src=x onerror="document.title=\'owned\'">',
    "</text></svg><script>document.title='owned'</script>",
    "{{ 7 * 7 }} &lt;b&gt; $\\frac{1}{2}$ 漢字 \x1b[31m",
)
PICTURES = ["Accuracy by family", "Reliability", "Latency", "Latency against prompt tokens"]
OUTSIDE_ITS_PICTURE = """
svg => {
  const frame = svg.getBoundingClientRect();
  return [...svg.querySelectorAll('text')].filter(text => {
    const box = text.getBoundingClientRect();
    return box.left < frame.left - 2 || box.right > frame.right + 2 || box.width === 0;
  }).map(text => text.textContent);
}
"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A report, a comparison, and a report of a run whose names are attempts to break out of them."""
    folder = tmp_path_factory.mktemp("pages")
    slow = write_run(folder / "slow.jsonl", answers(60, orders=1, skill=0.8, slowness=5), told=header(80))
    fast = write_run(folder / "fast.jsonl", answers(60, orders=1, seed=1))
    names = [
        record(f"{name}{turn}", family=name, option_ids=(name, "b"), expected=name, choice=choice)
        for name in ATTEMPTS
        for turn, choice in enumerate((name, "b"))
    ]
    faults = [unanswered(name, "failed", name, family=name) for name in ATTEMPTS]
    told = header(
        12,
        target=TargetName(kind="adapter", name=ATTEMPTS[1]),
        pins=Pins(model_name=ATTEMPTS[0], image=ATTEMPTS[2]),
    )
    foreign = write_run(folder / "foreign.jsonl", names + faults, told=told)
    uncounted = [
        one.model_copy(update={"family": None, "input_tokens": None}) for one in answers(9, orders=1)
    ]
    fewer = write_run(folder / "fewer.jsonl", uncounted)
    several = [
        write_run(folder / f"a-run-with-a-long-name-{turn}.jsonl", answers(60, seed=turn, skill=turn / 4))
        for turn in range(8)
    ]
    made = {name: folder / f"{name}.html" for name in ("report", "comparison", "several", "foreign", "fewer")}
    for arguments in (
        ["report", slow, "--html", made["report"]],
        ["compare", slow, fast, "--html", made["comparison"]],
        ["compare", *several, "--html", made["several"]],
        ["report", foreign, "--html", made["foreign"]],
        ["compare", fewer, fewer, "--html", made["fewer"]],
    ):
        result = CliRunner().invoke(main, ["evaluate", *map(str, arguments)])
        assert result.exit_code == 0, result.output
    return made


def assert_looks_right(page: "Page", titles: list[str]) -> None:
    """Every picture has a size, words for who cannot see it, and its letters inside; nothing sticks out."""
    pictures = page.locator("figure svg[role=img]")
    assert page.locator("figure h2").all_inner_texts() == titles
    assert pictures.count() == len(titles)
    for picture in pictures.all():
        box = picture.bounding_box()
        assert box is not None
        assert box["width"] > 250
        assert box["height"] > 120
        assert len(picture.get_attribute("aria-label") or "") > 40
        assert picture.evaluate(OUTSIDE_ITS_PICTURE) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= page.evaluate("innerWidth")


@pytest.mark.parametrize("name", ["report", "comparison", "several", "foreign"])
@pytest.mark.parametrize(
    "viewport", [{"width": 390, "height": 844}, {"width": 1280, "height": 900}], ids=["phone", "desk"]
)
def test_a_page_is_readable_on_phones_and_desks(
    browser: "Browser", pages: dict[str, Path], name: str, viewport: dict[str, int]
) -> None:
    with looking(browser, viewport=viewport) as page:
        page.goto(pages[name].as_uri())
        assert_looks_right(page, ["Right answers", "Latency"] if name == "several" else PICTURES)


def test_a_page_with_a_picture_and_a_table_less_has_no_empty_half(
    browser: "Browser", pages: dict[str, Path]
) -> None:
    with looking(browser, viewport={"width": 1280, "height": 900}) as page:
        page.goto(pages["fewer"].as_uri())
        assert page.locator("figure h2").all_inner_texts() == PICTURES[:3]
        whole = page.locator("main h1").bounding_box()
        assert whole is not None
        for last in ("figure", ".flow section"):
            box = page.locator(last).last.bounding_box()
            assert box is not None
            assert box["width"] == pytest.approx(whole["width"], abs=2), last


def test_a_page_follows_the_readers_colours(browser: "Browser", pages: dict[str, Path]) -> None:
    seen = {}
    for scheme in ("light", "dark"):
        with looking(browser, color_scheme=scheme) as page:
            page.goto(pages["report"].as_uri())
            ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
            letters = page.locator("figure svg text").first.evaluate("text => getComputedStyle(text).fill")
            text = page.evaluate("getComputedStyle(document.body).color")
            assert letters == text, "the pictures' letters have the page's colour"
            seen[scheme] = (ground, text)
    assert seen["light"][0] != seen["dark"][0]
    assert seen["light"][1] != seen["dark"][1]


def test_foreign_text_stays_text(browser: "Browser", pages: dict[str, Path]) -> None:
    with looking(browser) as page:
        page.goto(pages["foreign"].as_uri())
        page.locator("summary").click()
        assert page.locator("script, img").count() == 0
        assert page.title().startswith("Evaluation of <script>")
        shown = page.locator("table").all_inner_texts()
        for name in ATTEMPTS:
            assert any(name.replace("\x1b", "\N{REPLACEMENT CHARACTER}") in table for table in shown)
        drawn = page.locator("figure svg text").all_text_contents()
        assert any(text.startswith("{{ 7 * 7 }} &lt;") for text in drawn)


def test_the_tasks_that_went_wrong_are_listed(browser: "Browser", pages: dict[str, Path]) -> None:
    with looking(browser) as page:
        page.goto(pages["report"].as_uri())
        summary = page.locator("summary")
        assert not page.locator("details table").is_visible()
        summary.click()
        rows = page.locator("details tbody tr")
        assert summary.inner_text() == f"Tasks answered wrong ({rows.count()})"
        assert rows.first.is_visible()
        assert "The run is not complete: 60 of 80 tasks were asked." in page.locator(".warning").inner_text()


def test_a_page_is_whole_by_itself(pages: dict[str, Path]) -> None:
    for path in pages.values():
        text = path.read_text()
        assert "default-src 'none'" in text
        assert "<script" not in text.replace("&lt;script", "")
        assert "http://" not in text.replace("http://www.w3.org/", "")
        assert "https://" not in text
