// The same request for other hands: as its JSON, as Python, as a command line.

import { toJson, WrittenJson } from "./json.js";

export const snippets = {
  json: (request) => toJson(request, 2),

  python({ decision: { state, question, options }, parameters }, url) {
    const described = options.map(({ id, description }) => `        ${python(id)}: ${python(description ?? null)},`);
    return [
      "from semif import DecisionClient",
      "",
      `client = DecisionClient(url=${python(url)})`,
      "result = client.decide(",
      `    state=${python(state)},`,
      `    question=${python(question)},`,
      "    options={",
      ...described,
      "    },",
      ...(parameters ? [`    order_debiasing=${python(parameters.order_debiasing)},`] : []),
      ")",
      "print(result.choice, result.probability)",
      "print(dict(result.probabilities))",
    ].join("\n");
  },

  curl: (request, url) =>
    [
      `curl --silent --show-error ${url}/invocations \\`,
      "  --header 'content-type: application/json' \\",
      `  --data-binary ${quoted(toJson(request))}`,
    ].join("\n"),
};

/** A value as Python writes it: numbers as they are, and strings too, once JSON's escapes are JavaScript's own. */
function python(value) {
  const json = value instanceof WrittenJson ? value.text : JSON.stringify(value);
  return json.replace(
    /"(?:[^"\\]|\\.)*"|true|false|null/g,
    (word) => PYTHON_WORDS[word] ?? JSON.stringify(JSON.parse(word)),
  );
}

const PYTHON_WORDS = { true: "True", false: "False", null: "None" };

/** One word for a POSIX shell, whatever is in it. */
const quoted = (text) => `'${text.replaceAll("'", `'\\''`)}'`;
