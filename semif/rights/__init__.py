"""Who may do what in an account: the rights that the commands need, and policies made of them."""
