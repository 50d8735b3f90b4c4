// JSON as somebody wrote it: JavaScript would round its long numbers, and move its numbered keys to the front.

/** A value of which the text is kept. Throws a SyntaxError where that is no JSON. */
export class WrittenJson {
  constructor(text) {
    JSON.parse(text);
    this.text = text.trim();
  }

  toJSON() {
    return null;
  }
}

/** The JSON of a request, with a state that is JSON as it was written. */
export function toJson(request, indent) {
  const json = JSON.stringify(request, null, indent);
  const { state } = request.decision;
  // Nothing but our own id stands before the state, so the first place found is its own.
  return state instanceof WrittenJson ? json.replace(/(?<="state": ?)null/, () => state.text) : json;
}
