"""What is asked: labelled tasks from files and tables, in one order of their options or several."""
