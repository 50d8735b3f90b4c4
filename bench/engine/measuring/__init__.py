"""What is asked, and how time is counted."""
