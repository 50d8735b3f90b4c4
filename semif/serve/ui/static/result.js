// What came back, as text and bars. Whatever a person wrote is shown as text, never as markup.

const $ = (id) => document.getElementById(id);
const percent = (share) => `${(share * 100).toFixed(1)} %`;
const milliseconds = (seconds) => `${(seconds * 1000).toFixed(seconds < 0.01 ? 1 : 0)} ms`;

const PARTS = {
  system: "system: how to answer",
  schema: "question",
  state: "state",
  suffix: "the model's turn",
};

/** Show a result of the adapter, which took `seconds` as the page saw it. */
export function showResult(result, seconds) {
  showBars(result);
  const { allowed_token_mass: mass, calibration, timing, model } = result;
  const facts = {
    "Allowed token mass": mass === null ? "none: read by its words" : percent(mass),
    Tokens: `${result.input_tokens}, ${result.cached_tokens} of them cached`,
    Server: milliseconds(timing.total_seconds),
    "Round trip": milliseconds(seconds),
    Readout: timing.rotations > 1 ? `${result.readout}, ${timing.rotations} orders` : result.readout,
    Calibration: calibration ? `temperature ${calibration.temperature.toPrecision(3)}` : "none",
  };
  $("facts").replaceChildren(
    ...Object.entries(facts).map(([name, value]) => {
      const pair = element("div");
      pair.append(element("dt", name), element("dd", value));
      return pair;
    }),
  );
  const { name, quantization, backend, llama_cpp_build: build, context_tokens: context } = model;
  $("model").textContent = `${name} ${quantization}, ${backend}, llama.cpp ${build}, context ${context} tokens`;
  $("result").hidden = false;
}

/** Rows are kept where they can be, so that the bars move. */
function showBars({ option_ids: ids, probabilities, option_logits: logits }) {
  const body = $("bars").tBodies[0];
  while (body.rows.length > ids.length) body.deleteRow(-1);
  while (body.rows.length < ids.length) body.append(newRow());
  const best = probabilities.indexOf(Math.max(...probabilities));
  ids.forEach((id, index) => {
    const row = body.rows[index];
    row.classList.toggle("best", index === best);
    row.cells[0].textContent = id;
    row.querySelector(".fill").style.width = `${probabilities[index] * 100}%`;
    row.cells[2].textContent = percent(probabilities[index]);
    row.title = `logit ${logits[index].toFixed(3)}`;
  });
}

function newRow() {
  const row = document.createElement("tr");
  const name = element("th");
  name.scope = "row";
  const bar = element("td");
  bar.className = "bar";
  const fill = element("div");
  fill.className = "fill";
  bar.append(fill);
  row.append(name, bar, element("td"));
  return row;
}

/** Show the prompt in its parts, and whether it is the one that was answered. */
export function showPrompt({ parts, answers, readout, version, sha256 }, result) {
  $("prompt").replaceChildren(
    ...parts.map(({ name, text, tokens }) => {
      const part = element("div");
      part.className = `part ${name}`;
      const listed = name === "schema" && readout === "letters" ? " and options" : "";
      part.append(element("h3", `${PARTS[name]}${listed}, ${tokens} ${tokens === 1 ? "token" : "tokens"}`), element("pre", text));
      return part;
    }),
    scored(readout, answers),
  );
  const same = sha256 === result.prompt_sha256;
  $("proof").textContent = same
    ? `${version}; its SHA-256 is the reply's: ${sha256}`
    : `${version}; this is not the prompt that was answered: its SHA-256 is ${sha256}, ` +
      `the reply's ${result.prompt_sha256}`;
  $("proof").classList.toggle("bad", !same);
}

function scored(readout, answers) {
  const part = element("div");
  part.className = "part answers";
  const what = readout === "letters" ? "the letters scored here" : "the words scored here, each against an empty state";
  const list = element("ul");
  list.append(...answers.map((answer) => element("li", answer)));
  part.append(element("h3", what), list);
  return part;
}

function element(tag, text) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  return made;
}
