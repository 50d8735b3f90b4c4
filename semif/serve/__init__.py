"""The adapter on this machine, and the page to try it."""
