"""A page to try a model on this machine: `semif serve --ui`. It is no part of the container."""
