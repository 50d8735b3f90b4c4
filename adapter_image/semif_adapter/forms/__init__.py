"""The forms of a request's body, each parsed into questions: `decision`, `decisions` and System One."""
