"""`environments/*.toml`: what they may say, what is wrong with them, what they come to."""
