"""Decisions per second: the adapter against what a user would pick instead, in one run."""
