"""What runs in the container: reads a decision request, scores it on libllama, answers with probabilities."""
