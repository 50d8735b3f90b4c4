"""Commands that bring an environment up, look after it and take it down."""
