"""Models: presets, pins, where they come from, and how they are packed."""
