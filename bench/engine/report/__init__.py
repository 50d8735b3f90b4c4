"""The tables and pictures of a run, and the page that keeps them."""
