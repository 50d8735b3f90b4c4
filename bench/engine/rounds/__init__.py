"""One round: every contender, every workload, and the bars they are held against."""
