"""From what the model says to a number for each option: letters, words, and decision heads of its own."""
