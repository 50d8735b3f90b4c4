"""The stacks: what is built from, and what answers."""
