"""Our stacks on an emulator that is not ours: `python -m bench.second_emulator` says what comes of them."""
