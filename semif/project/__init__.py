"""The project's folder and the files in it, read and written whole; what `semif init` begins one with."""
