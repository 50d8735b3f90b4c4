"""The binding on other builds of llama.cpp: `python -m bench.llama_builds` prints the table of them."""
