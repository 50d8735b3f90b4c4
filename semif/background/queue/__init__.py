"""Asking an asynchronous endpoint all of a file: sent, followed and gathered, through any interruption."""
