"""What the Qwen 3.5 plugin brings."""
