// The form: the decision that it describes, and rows of options that can be added, moved and taken away.

import { WrittenJson } from "./json.js";

const $ = (id) => document.getElementById(id);
const rows = () => [...$("options").children];

/** The request that the form describes. Throws an Error where the state says it is JSON and is none. */
export function readRequest() {
  const options = rows().map((row) => {
    const id = row.querySelector(".id").value;
    const description = row.querySelector(".description").value;
    return description ? { id, description } : { id };
  });
  const request = {
    decision: { id: "try-it", state: readState(), question: $("question").value, options },
  };
  if ($("rotate").checked) request.parameters = { order_debiasing: "rotate" };
  return request;
}

function readState() {
  if (!isJson()) return $("state").value;
  try {
    return new WrittenJson($("state").value);
  } catch (error) {
    throw new Error(`the state is no JSON (${error.message}); change it, or say that it is text`);
  }
}

const isJson = () => $("form").elements.kind.value === "json";

/** Fill the form with a decision. */
export function fill({ state, question, options }) {
  const text = typeof state === "string";
  $("form").elements.kind.value = text ? "text" : "json";
  $("state").value = text ? state : JSON.stringify(state, null, 2);
  $("question").value = question;
  $("rotate").checked = false;
  $("options").replaceChildren(...options.map(newRow));
  name();
}

/** Mark the field that an error's `path` names, such as decision.options[1].id, and no other. */
export function mark(path) {
  for (const field of $("form").querySelectorAll("[aria-invalid]")) field.removeAttribute("aria-invalid");
  const place = /^decision\.(state|question|options\[(\d+)\](?:\.(id|description))?)/.exec(path ?? "");
  if (!place) return;
  const [, key, index, part] = place;
  const field = index === undefined ? $(key) : rows()[Number(index)]?.querySelector(`.${part ?? "id"}`);
  field?.setAttribute("aria-invalid", "true");
}

/** Let the buttons of the rows work; `changed` is called after each of them. */
export function connect(changed) {
  $("add").addEventListener("click", () => {
    const row = newRow({ id: freeId() });
    $("options").append(row);
    name();
    row.querySelector(".id").select();
    changed();
  });
  $("options").addEventListener("click", ({ target }) => {
    const row = target.closest("li");
    if (target.matches(".up")) row.previousElementSibling?.before(row);
    else if (target.matches(".down")) row.nextElementSibling?.after(row);
    else if (target.matches(".remove")) remove(row);
    else return;
    name();
    if (row.isConnected) (target.disabled ? row.querySelector(".id") : target).focus();
    changed();
  });
}

function remove(row) {
  const next = row.nextElementSibling ?? row.previousElementSibling;
  row.remove();
  (next?.querySelector(".remove") ?? $("add")).focus();
}

function newRow({ id, description = "" }) {
  const row = document.createElement("li");
  row.append(
    input("id", id, "id"),
    input("description", description, "description for the model"),
    button("up", "↑"),
    button("down", "↓"),
    button("remove", "×"),
  );
  return row;
}

function input(kind, value, placeholder) {
  const field = document.createElement("input");
  Object.assign(field, { type: "text", className: kind, value, placeholder, spellcheck: false, dir: "auto" });
  return field;
}

function button(kind, sign) {
  const made = document.createElement("button");
  Object.assign(made, { type: "button", className: kind, textContent: sign });
  return made;
}

/** Names for those who do not see where a row stands. */
function name() {
  const all = rows();
  all.forEach((row, index) => {
    const place = `option ${index + 1}`;
    const names = { id: `Id of ${place}`, description: `Description of ${place}` };
    const moves = { up: `Move ${place} up`, down: `Move ${place} down`, remove: `Remove ${place}` };
    for (const [kind, label] of Object.entries({ ...names, ...moves }))
      row.querySelector(`.${kind}`).setAttribute("aria-label", label);
    row.querySelector(".up").disabled = index === 0;
    row.querySelector(".down").disabled = index === all.length - 1;
  });
}

function freeId() {
  const taken = new Set(rows().map((row) => row.querySelector(".id").value));
  let number = taken.size + 1;
  while (taken.has(`option-${number}`)) number += 1;
  return `option-${number}`;
}
