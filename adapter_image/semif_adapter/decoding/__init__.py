"""From tokens to logits: how prompts go through the model, and which of their beginnings stay computed."""
