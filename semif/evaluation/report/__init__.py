"""What answers are worth: measures, comparisons, and the pages that show them."""
