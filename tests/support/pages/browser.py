"""Pages in Debian's headless Chromium, driven by Playwright. No other machine is asked for anything."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Page, Request

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
"""The first has no window at all, and takes a quarter of the others' time."""
HERE = {"127.0.0.1", "localhost"}
LONGEST_WAIT_MS = 120_000
"""On a busy machine too."""
A_FAILED_REPLY = "Failed to load resource: "
"""What Chromium itself says of a reply of 400 and above, or of none: a page may well expect it."""


@contextmanager
def chromium() -> "Iterator[Browser]":
    """A headless browser. The test is skipped where there is none.

    Playwright's loop counts as running in this thread until the end, so that `asyncio.run` is refused here:
    keep it for no longer than a module.
    """
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - few tests look at a page

    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        pytest.skip("there is no Chromium here; `make system-deps` installs it")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--disable-dev-shm-usage"])
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def looking(browser: "Browser", *, failures: bool = False, **context: Any) -> "Iterator[Page]":
    """An empty page in a context of its own (`viewport`, `color_scheme`, `permissions` ...: Playwright's).

    At the end: no error on its console and no request to another machine. With `failures` the page may have
    been answered with errors, or not at all.
    """
    troubles: list[str] = []

    def on_console(message: "ConsoleMessage") -> None:
        if message.type == "error" and not (failures and message.text.startswith(A_FAILED_REPLY)):
            troubles.append(message.text)

    def on_request(request: "Request") -> None:
        address = urlsplit(request.url)
        if address.scheme in {"http", "https", "ws", "wss"} and address.hostname not in HERE:
            troubles.append(f"asked {request.url}")

    opened = browser.new_context(**context)
    try:
        opened.set_default_timeout(LONGEST_WAIT_MS)
        page = opened.new_page()
        page.on("console", on_console)
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("request", on_request)
        yield page
    finally:
        opened.close()
    assert not troubles, troubles


@pytest.fixture(scope="module")
def browser() -> "Iterator[Browser]":
    """A headless Chromium, for `looking`; tests are skipped where there is none."""
    with chromium() as opened:
        yield opened
