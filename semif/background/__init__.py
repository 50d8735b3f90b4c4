"""Files of decisions that nobody waits for: through an asynchronous endpoint's queue or transform jobs."""
