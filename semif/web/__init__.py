"""Look-ups over HTTP, as people's proxies and certificates allow them."""
