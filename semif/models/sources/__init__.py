"""Where models come from: several sources, one door, and nothing passes it unverified."""

from semif.models.sources.fetch import fetch

__all__ = ["fetch"]
