"""What a promotion is tried on."""

from tests.support.promotion import chain, layers, regions

__all__ = ["chain", "layers", "regions"]
