"""A real adapter under hostile requests, and under load for long."""
