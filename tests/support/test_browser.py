"""The browser that looks at our pages: it runs them, and hears what goes wrong."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.pages.browser import looking

if TYPE_CHECKING:
    from playwright.sync_api import Browser


def test_a_page_is_rendered_and_its_script_runs(browser: "Browser", tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text("<p id=said></p><script>said.textContent = 6 * 7</script>")
    with looking(browser, viewport={"width": 390, "height": 600}) as page:
        page.goto(file.as_uri())
        assert page.locator("#said").inner_text() == "42"
        assert page.evaluate("innerWidth") == 390


@pytest.mark.parametrize(
    "wrong",
    [
        "<script>console.error('broken')</script>",
        "<script>missing()</script>",
        "<img src='http://192.0.2.1/image.png'>",
    ],
)
def test_what_goes_wrong_on_a_page_is_heard(browser: "Browser", wrong: str) -> None:
    with pytest.raises(AssertionError):
        look(browser, wrong)


def look(browser: "Browser", content: str) -> None:
    with looking(browser) as page:
        page.set_content(content, wait_until="commit")
        page.wait_for_function("document.readyState !== 'loading'")
