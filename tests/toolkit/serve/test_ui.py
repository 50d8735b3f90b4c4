"""`semif serve --ui` in a real browser, in front of real models."""

import hashlib
import json
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import urllib3
from click.testing import CliRunner

from semif.cli import main
from tests.support.pages.browser import looking
from tests.support.servers.serving import free_port, start

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

JSON = {"content-type": "application/json"}
AWKWARD = (
    'It\'s "quoted",\n$HOME `id` \\n\t</script><img src=x onerror=alert(1)> %s {0} \u2028 Straße 日本 🎈'
)
MARKUP = "<img src=x onerror=\"document.title='taken'\">"


@pytest.fixture
def url(adapter_url: str) -> str:
    return adapter_url


@pytest.fixture
def page(browser: "Browser", url: str) -> "Iterator[Page]":
    """The page with its first answer."""
    with answered(browser, url) as opened:
        yield opened


@pytest.fixture
def embedded_page(browser: "Browser", embedded_url: str) -> "Iterator[Page]":
    """The same in front of the embedded model."""
    with answered(browser, embedded_url) as opened:
        yield opened


@contextmanager
def answered(browser: "Browser", url: str) -> "Iterator[Page]":
    with looking(browser, permissions=["clipboard-read", "clipboard-write"]) as opened:
        opened.goto(url)
        settle(opened)
        yield opened


def settle(page: "Page") -> None:
    """Wait until the answer to what is written is shown; with the first key the page says that it is not."""
    page.locator("#answer[data-state=answered]").wait_for()


def bars(page: "Page") -> dict[str, str]:
    """What is read off the page: the options and their percentages."""
    return {
        row.locator("th").inner_text(): row.locator("td").last.inner_text()
        for row in page.locator("#bars tbody tr").all()
    }


def widths(page: "Page") -> list[float]:
    """How long the bars are meant to be, in percent."""
    return [
        float(fill.evaluate("bar => parseFloat(bar.style.width)")) for fill in page.locator(".fill").all()
    ]


def written(page: "Page") -> dict[str, Any]:
    """The request that the page says it sends."""
    page.get_by_label("request").check()
    request: dict[str, Any] = json.loads(page.locator("#snippet").inner_text())
    return request


def asked(url: str, request: Any) -> dict[str, Any]:
    """The adapter's own answer."""
    reply = urllib3.request("POST", f"{url}/invocations", json=request, timeout=60)
    assert reply.status == 200, reply.data
    result: dict[str, Any] = reply.json()["result"]
    return result


def shown(result: dict[str, Any]) -> dict[str, str]:
    return {
        option: f"{share * 100:.1f} %"
        for option, share in zip(result["option_ids"], result["probabilities"], strict=True)
    }


def test_the_bars_are_the_adapters_answer_and_move_with_the_words(
    embedded_page: "Page", embedded_url: str
) -> None:
    page, url = embedded_page, embedded_url
    before = bars(page)
    assert before == shown(asked(url, written(page)))
    assert page.get_by_role("status").inner_text().startswith("billing, ")
    page.get_by_label("State", exact=True).fill("The parcel has not moved for a week. Where is my delivery?")
    settle(page)
    result = asked(url, written(page))
    assert bars(page) == shown(result) != before
    assert widths(page) == pytest.approx([share * 100 for share in result["probabilities"]], abs=1e-3)
    assert page.get_by_role("status").inner_text().startswith("shipping, ")
    facts = page.locator("#facts").inner_text()
    assert f"{result['input_tokens']}, " in facts
    assert "read by its words" in facts
    assert "embedded Q4_1, CPU" in page.locator("#model").inner_text()


def test_the_prompt_that_is_shown_is_the_one_that_was_answered(page: "Page", url: str) -> None:
    text = "".join(page.locator("#prompt pre").all_text_contents())
    result = asked(url, written(page))
    assert hashlib.sha256(text.encode()).hexdigest() == result["prompt_sha256"]
    assert "its SHA-256 is the reply's" in page.locator("#proof").inner_text()
    headings = page.locator("#prompt h3").all_inner_texts()
    tokens = [int(heading.split(", ")[-1].removesuffix(" tokens")) for heading in headings[:-1]]
    assert [heading.split(":")[0].split(",")[0] for heading in headings[:-1]] == [
        "system", "question", "state", "the model's turn",
    ]  # fmt: skip
    assert sum(tokens) == result["input_tokens"]


def test_every_example_is_answered(page: "Page", url: str) -> None:
    names = page.locator("#example option").all_inner_texts()
    assert len(names) >= 4
    for name in names[1:]:
        page.get_by_label("Start from").select_option(name)
        settle(page)
        assert bars(page) == shown(asked(url, written(page)))


def test_options_are_added_moved_and_removed_with_the_keyboard_alone(page: "Page") -> None:
    page.get_by_role("button", name="Add an option").press("Enter")
    page.keyboard.type("legal")  # the new row's id has the focus, selected
    page.keyboard.press("Tab")
    page.keyboard.type("Contracts and privacy")
    page.get_by_role("button", name="Move option 4 up").press("Enter")
    page.keyboard.press("Enter")  # the focus went with the row
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.value") == "legal"  # the first row moves no further up
    page.get_by_role("button", name="Remove option 2").press("Enter")
    assert page.evaluate("document.activeElement.ariaLabel") == "Remove option 2"
    settle(page)
    options = written(page)["decision"]["options"]
    assert [option["id"] for option in options] == ["legal", "shipping", "technical"]
    assert options[0]["description"] == "Contracts and privacy"
    assert list(bars(page)) == ["legal", "shipping", "technical"]


def test_only_the_latest_answer_is_shown(page: "Page", url: str) -> None:
    state = page.get_by_label("State", exact=True)
    state.fill("")
    state.press_sequentially("Where is my parcel? The app shows an error", delay=30)
    settle(page)
    assert written(page)["decision"]["state"] == "Where is my parcel? The app shows an error"
    assert bars(page) == shown(asked(url, written(page)))


def copied(page: "Page", kind: str) -> str:
    page.get_by_label(kind).check()
    page.locator("#copy").click()
    page.get_by_text("Copied", exact=True).wait_for()
    text: str = page.evaluate("navigator.clipboard.readText()")
    return text


def fill_awkwardly(page: "Page") -> None:
    page.get_by_label("State", exact=True).fill(AWKWARD)
    page.get_by_label("Question").fill(f"Why? {AWKWARD}")
    page.get_by_label("Id of option 1").fill("it's")
    page.get_by_label("Description of option 1").fill(AWKWARD.replace("\n", " "))
    page.get_by_label("Description of option 2").fill("")
    settle(page)


def test_what_is_copied_is_what_was_asked(page: "Page", url: str) -> None:
    fill_awkwardly(page)
    request = written(page)
    assert request["decision"]["state"] == AWKWARD
    assert json.loads(copied(page, "request")) == request
    program, *words = shlex.split(copied(page, "curl"), posix=True)
    assert program == "curl"
    assert words[2] == f"{url}/invocations"
    assert words[words.index("--header") + 1] == "content-type: application/json"
    assert json.loads(words[words.index("--data-binary") + 1]) == request
    assert bars(page) == shown(asked(url, request))


def test_the_python_that_is_copied_runs(page: "Page", url: str) -> None:
    fill_awkwardly(page)
    program = copied(page, "Python")
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    result = asked(url, written(page))
    best = max(result["probabilities"])
    choice = result["option_ids"][result["probabilities"].index(best)]
    assert ran.stdout.splitlines()[0] == f"{choice} {best}"


def test_a_json_state_goes_as_json(page: "Page") -> None:
    page.get_by_label("Start from").select_option("Yes or no: a mail as JSON")
    settle(page)
    assert written(page)["decision"]["state"]["from"] == "prize-center"
    assert "'from'" not in copied(page, "Python")
    page.get_by_label("State", exact=True).fill('{"from": ')
    page.get_by_role("alert").wait_for()
    assert "the state is no JSON" in page.get_by_role("alert").inner_text()
    assert page.get_by_label("State", exact=True).get_attribute("aria-invalid") == "true"
    page.get_by_label("text", exact=True).check()
    settle(page)
    assert written(page)["decision"]["state"] == '{"from": '
    assert page.get_by_role("alert").count() == 0


def test_a_json_state_goes_as_it_is_written(page: "Page", url: str) -> None:
    page.get_by_label("JSON").check()
    state = (
        r'{"b": 12345678901234567890, "1": 1.0, "e": "\ud83c\udf88 \/ $& \u0000 \" null", "t": [true, null]}'
    )
    page.get_by_label("State", exact=True).fill(f"\n{state}\n")
    settle(page)
    seen = '{"b":12345678901234567890,"1":1.0,"e":"🎈 / $& \\u0000 \\" null","t":[true,null]}'
    assert page.locator("#prompt .state pre").inner_text().strip() == seen
    result = asked(url, written(page))
    assert bars(page) == shown(result)
    assert state in copied(page, "curl")
    ran = subprocess.run(
        [sys.executable, "-c", copied(page, "Python")], capture_output=True, text=True, check=True
    )
    assert ran.stdout.splitlines()[0].endswith(f" {max(result['probabilities'])}")


def test_words_from_right_to_left_leave_the_number_alone(page: "Page") -> None:
    page.get_by_label("Id of option 1").fill("مرحبا")
    page.get_by_label("Description of option 1").fill("שלום")
    settle(page)
    assert page.get_by_label("Id of option 1").evaluate("field => getComputedStyle(field).direction") == "rtl"
    place = """words => {
      const [name, number] = [...words.childNodes].map(node => {
        const range = document.createRange();
        range.selectNodeContents(node);
        return range.getBoundingClientRect();
      });
      return number.left - name.right;
    }"""
    assert page.get_by_role("status").evaluate(place) >= -1


def test_what_somebody_writes_stays_text(page: "Page") -> None:
    page.get_by_label("State", exact=True).fill(f"{MARKUP}<script>document.title='taken'</script>")
    page.get_by_label("Question").fill(MARKUP)
    page.get_by_label("Id of option 1").fill(MARKUP)
    page.get_by_label("Description of option 2").fill(MARKUP)
    settle(page)
    for kind in ("Python", "curl", "request"):
        page.get_by_label(kind).check()
    assert MARKUP in bars(page)
    assert MARKUP in page.locator("#prompt").inner_text()
    assert page.locator("main img, main script").count() == 0
    assert page.title() == "Semif: try a decision"


def test_a_refusal_is_told_in_the_adapters_words_at_its_field(browser: "Browser", url: str) -> None:
    with looking(browser, failures=True) as page:
        page.goto(url)
        settle(page)
        page.get_by_label("Id of option 2").fill("billing")
        alert = page.get_by_role("alert")
        alert.wait_for()
        assert alert.inner_text() == (
            "decision.options[1].id must be unique, decision.options[0].id is the same"
        )
        assert page.get_by_label("Id of option 2").get_attribute("aria-invalid") == "true"
        assert page.locator("[aria-invalid]").count() == 1
        page.get_by_label("Id of option 2").fill("shipping")
        settle(page)
        assert page.locator("[aria-invalid]").count() == alert.count() == 0


LONG = {
    "decision": {
        "id": "long",
        "state": "The lamp is on.",
        "question": "Which lamp is it?",
        "options": [
            {"id": f"lamp-{number}", "description": f"in hall {number} " * 15} for number in range(16)
        ],
    },
    "parameters": {"order_debiasing": "rotate"},
}
"""Sixteen prompts of some thousand tokens: seconds on a tiny model too, of which few are waited for."""


def test_letters_a_full_server_and_a_dead_one(
    browser: "Browser", tiny_gguf: Callable[..., Path], tmp_path: Path
) -> None:
    port, log, model = free_port(), tmp_path / "log", str(tiny_gguf())
    variables = {"SEMIF_READOUT": "letters", "SEMIF_MAX_IN_FLIGHT": "1"}
    server = start(port, log, "--ui", model=model, **variables)
    try:
        with looking(browser, failures=True) as page:
            page.goto(f"http://localhost:{port}")
            settle(page)
            assert "question and options, " in page.locator("#prompt").inner_text()
            assert page.locator(".answers li").all_inner_texts() == ["A", "B", "C"]
            assert page.locator("#facts dd").first.inner_text().endswith(" %")
            page.get_by_label("Ask in every order").check()
            settle(page)
            assert "letters, 3 orders" in page.locator("#facts").inner_text()

            alert = page.get_by_role("alert")
            with socket.create_connection(("127.0.0.1", port)) as slow:
                body = json.dumps(LONG).encode()
                slow.sendall(
                    b"POST /invocations HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
                    b"content-length: %d\r\n\r\n%s" % (len(body), body)
                )  # takes the only place, until it hangs up
                page.get_by_label("Ask in every order").uncheck()
                alert.wait_for()
                assert "asking again in " in alert.inner_text()
            settle(page)
            assert alert.count() == 0

            server.send_signal(signal.SIGKILL)
            server.wait(60)
            page.get_by_label("Question").fill("Who takes care of this?")
            alert.get_by_text("the adapter does not answer").wait_for()
            server = start(port, log, "--ui", model=model, **variables)
            settle(page)
            assert alert.count() == 0
    finally:
        server.terminate()
        server.wait(60)


def test_a_model_that_loads_is_waited_for_and_is_no_error(browser: "Browser", url: str) -> None:
    error = {"code": "loading", "message": "the model is not loaded yet"}
    loading = json.dumps({"error": error, "retryable": True, "retry_after_seconds": 600})
    with looking(browser, failures=True) as page:
        page.route(
            "**/invocations",
            lambda route: route.fulfill(status=503, content_type="application/json", body=loading),
            times=1,
        )
        page.goto(url)
        page.get_by_role("status").get_by_text("The model is loading").wait_for()
        assert page.get_by_role("alert").count() == 0
        settle(page)  # within a second, whatever the server says to others


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_narrow_page_fits_and_its_words_stand_out(browser: "Browser", url: str, scheme: Any) -> None:
    with looking(browser, viewport={"width": 390, "height": 844}, color_scheme=scheme) as page:
        page.goto(url)
        settle(page)
        assert page.evaluate("document.documentElement.scrollWidth") == 390
        for element in ("#status", "#model", "#facts dt", ".schema h3", ".state h3", "#snippet", ".id"):
            assert contrast(page, element) >= 4.5, element


def contrast(page: "Page", selector: str) -> float:
    """Between an element's words and what is behind them, as WCAG 2.2 counts it."""
    ratio: float = page.locator(selector).first.evaluate(
        """element => {
          const bare = colour => colour.match(/[\\d.]+/g).map(Number);
          const light = colour => bare(colour).slice(0, 3).map(part => part / 255)
            .map(part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
            .reduce((sum, part, index) => sum + part * [0.2126, 0.7152, 0.0722][index], 0);
          let behind = element;
          while (bare(getComputedStyle(behind).backgroundColor)[3] === 0) behind = behind.parentElement;
          const [low, high] = [getComputedStyle(element).color, getComputedStyle(behind).backgroundColor]
            .map(light).sort((a, b) => a - b);
          return (high + 0.05) / (low + 0.05);
        }"""
    )
    return ratio


def test_everything_to_touch_has_a_name(page: "Page") -> None:
    nameless = page.locator("input, textarea, select, button").evaluate_all(
        "all => all.filter(e => !e.ariaLabel && !e.labels?.length && !e.textContent.trim()).map(e => e.id)"
    )
    assert nameless == []


def test_nobody_elses_name_reaches_page_or_adapter(url: str) -> None:
    port = url.rpartition(":")[2]
    for path in ("/", "/ping", "/ui/page.js"):
        assert urllib3.request("GET", url + path).status == 200
        foreign = urllib3.request("GET", url + path, headers={"host": f"rebound.example:{port}"})
        assert foreign.status == 400
    reply = urllib3.request("GET", f"{url}/ping", headers={"origin": "https://elsewhere.example"})
    assert not [name for name in reply.headers if name.lower().startswith("access-control-")]
    assert "default-src 'none'" in urllib3.request("GET", url).headers["content-security-policy"]


def test_the_prompt_view_refuses_as_the_adapter_does(url: str) -> None:
    def refused(body: bytes, headers: dict[str, str]) -> tuple[int, str]:
        reply = urllib3.request("POST", f"{url}/ui/prompt", body=body, headers=headers)
        return reply.status, reply.json()["error"]["code"]

    assert refused(b"{}", JSON) == (400, "invalid_request")
    assert refused(b"{}", {"content-type": "text/plain"}) == (415, "unsupported_media_type")
    assert refused(b" " * 4_194_305, JSON) == (413, "body_too_large")
    assert refused(b'{"questions": {}}', JSON) == (400, "invalid_request")


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "127.example", "::"])
def test_the_page_is_for_this_machine_alone(host: str) -> None:
    result = CliRunner().invoke(main, ["serve", "embedded", "--ui", "--host", host])
    assert result.exit_code == 1
    assert result.stderr.startswith(f"semif: --ui shows its page on this machine alone, --host is '{host}'")


def test_a_key_that_the_page_does_not_know_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEMIF_API_KEY", "a-secret")
    result = CliRunner().invoke(main, ["serve", "embedded", "--ui"])
    assert result.exit_code == 1
    assert "SEMIF_API_KEY is set" in result.stderr
    assert "a-secret" not in result.stderr
