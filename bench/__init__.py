"""Benchmarks against named baselines: nothing here is needed to deploy or to ask."""
