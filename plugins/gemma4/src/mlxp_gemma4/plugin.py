"""What the Gemma 4 plugin brings."""
