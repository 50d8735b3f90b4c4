// The page's course: what is written is asked soon after, and only the latest answer is shown.

import { connect, fill, mark, readRequest } from "./form.js";
import { toJson } from "./json.js";
import { showPrompt, showResult } from "./result.js";
import { snippets } from "./snippets.js";

const PAUSE_MS = 200; // after the last key, before it is asked
const AGAIN_MS = 2000; // where nobody answers
const LOADING_MS = 1000; // a model on one's own machine loads in seconds, whatever the server says to others
const $ = (id) => document.getElementById(id);

let asking = new AbortController();
let timer;

function later() {
  clearTimeout(timer);
  asking.abort(); // the adapter stops working on what nobody waits for
  become("asking");
  timer = setTimeout(ask, PAUSE_MS);
}

async function ask() {
  asking = new AbortController();
  const { signal } = asking;
  let request;
  try {
    request = readRequest();
  } catch (error) {
    tell(error.message, "decision.state");
    become("refused");
    return;
  }
  try {
    const began = performance.now();
    const answer = await send("/invocations", request, signal);
    const seconds = (performance.now() - began) / 1000;
    if (answer.error) refused(answer);
    else {
      const prompt = await send("/ui/prompt", request, signal);
      showResult(answer.result, seconds);
      if (prompt.error) refused(prompt);
      else {
        showPrompt(prompt, answer.result);
        answered(answer.result);
      }
    }
  } catch {
    if (signal.aborted) return; // something newer is asked
    tell("the adapter does not answer; if it was stopped, start it again: this page goes on by itself");
    timer = setTimeout(ask, AGAIN_MS);
  }
}

/** How far the answer is: asking, answered, or refused for good. What is shown meanwhile is older. */
function become(state) {
  $("answer").dataset.state = state;
  $("answer").setAttribute("aria-busy", String(state === "asking"));
}

async function send(path, request, signal) {
  const headers = { "content-type": "application/json" };
  const reply = await fetch(path, { method: "POST", headers, body: toJson(request), signal });
  return reply.json();
}

function answered({ option_ids: ids, probabilities }) {
  const best = probabilities.indexOf(Math.max(...probabilities));
  const name = document.createElement("bdi"); // an id from right to left leaves the number alone
  name.textContent = ids[best];
  $("status").replaceChildren(name, `, ${(probabilities[best] * 100).toFixed(1)} %`);
  $("problem").hidden = true;
  mark(null);
  become("answered");
}

function refused({ error, retryable, retry_after_seconds: seconds }) {
  if (error.code === "loading") {
    wait("The model is loading …");
    return;
  }
  tell(retryable ? `${error.message}; asking again in ${seconds} s` : error.message, error.path);
  if (retryable) timer = setTimeout(ask, seconds * 1000);
  else become("refused");
}

/** Nothing is wrong: what is asked is asked again by itself. */
function wait(message) {
  $("status").textContent = message;
  $("problem").hidden = true;
  mark(null);
  timer = setTimeout(ask, LOADING_MS);
}

function tell(message, path) {
  $("problem").textContent = message;
  $("problem").hidden = false;
  $("status").textContent = "";
  mark(path);
}

function showSnippet() {
  $("copy").textContent = "Copy";
  const kind = document.querySelector("[name=snippet]:checked").value;
  try {
    $("snippet").textContent = snippets[kind](readRequest(), location.origin);
  } catch (error) {
    $("snippet").textContent = error.message;
  }
}

async function copy() {
  try {
    await navigator.clipboard.writeText($("snippet").textContent);
    $("copy").textContent = "Copied";
  } catch {
    getSelection().selectAllChildren($("snippet"));
    $("copy").textContent = "Selected: press the keys for copy";
  }
}

function changed() {
  showSnippet();
  later();
}

async function start() {
  const examples = await (await fetch("/ui/examples.json")).json();
  $("example").append(...examples.map(({ name }, index) => new Option(name, String(index))));
  $("example").addEventListener("change", () => {
    fill(examples[Number($("example").value)].decision);
    changed();
  });
  connect(changed);
  $("form").addEventListener("input", ({ target }) => target.id === "example" || changed());
  $("form").addEventListener("submit", (event) => event.preventDefault());
  $("copy").addEventListener("click", copy);
  for (const choice of document.querySelectorAll("[name=snippet]")) choice.addEventListener("change", showSnippet);
  fill(examples[0].decision);
  changed();
}

start();
