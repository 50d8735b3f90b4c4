"""OpenAI's Decisions API: the same scoring behind its request, its answers and its errors."""
