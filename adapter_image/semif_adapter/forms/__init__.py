"""The forms of a request's body, each parsed into questions: ours, System One's and OpenAI's."""
