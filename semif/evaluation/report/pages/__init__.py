"""Figures as one page that needs nothing else, and its pictures."""
