"""`semif model`: what can be packed, and packing it."""

from semif.cli.model.pin import command

__all__ = ["command"]
