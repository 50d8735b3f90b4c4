"""Figures for people: tables for a terminal and Markdown, pages with pictures."""
