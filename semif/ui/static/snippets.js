// The same request for other hands: as its JSON, as Python, as a command line.

export const snippets = {
  json: (request) => JSON.stringify(request, null, 2),

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
      `  --data-binary ${quoted(JSON.stringify(request))}`,
    ].join("\n"),
};

/** A JSON value as Python writes it; JSON's strings are Python's too. */
function python(value) {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Array.isArray(value)) return `[${value.map(python).join(", ")}]`;
  if (typeof value === "object")
    return `{${Object.entries(value).map(([key, item]) => `${python(key)}: ${python(item)}`).join(", ")}}`;
  return JSON.stringify(value);
}

/** One word for a POSIX shell, whatever is in it. */
const quoted = (text) => `'${text.replaceAll("'", `'\\''`)}'`;
