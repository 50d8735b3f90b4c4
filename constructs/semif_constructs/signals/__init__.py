"""What an endpoint says of itself: its log, its metrics, an alarm on one of them."""
