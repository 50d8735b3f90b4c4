"""The benchmark on a GPU, in one command: library, device, every mode, and the page."""
