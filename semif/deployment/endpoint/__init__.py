"""One endpoint on its way: what its template says of it, how it moves, how much it takes, when it ends."""
