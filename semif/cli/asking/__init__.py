"""Commands that ask a model: decide, ask, submit, batch, and serve on this machine."""
