"""Figures as tables: what stands in which cell, the same on every output."""
