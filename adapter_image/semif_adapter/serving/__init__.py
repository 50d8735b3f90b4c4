"""One request from its first byte to its answer: admission, queue, the engine's thread, log, figures."""
