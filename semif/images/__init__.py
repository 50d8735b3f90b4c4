"""The published llama.cpp containers: how they are pinned, and the registries that have them."""
