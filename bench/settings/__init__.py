"""What other settings of llama.cpp would cost or save, beside the adapter's own."""
