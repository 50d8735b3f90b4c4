"""`python -m semif`."""

from semif.cli import main

main(prog_name="semif")
