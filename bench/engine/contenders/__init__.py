"""Who is measured: the adapter, llama-server, and the shapes of the same work by hand."""
