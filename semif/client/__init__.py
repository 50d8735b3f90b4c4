"""The client: ask a deployed decision model, with typed answers and typed failures. See docs/client.md."""
