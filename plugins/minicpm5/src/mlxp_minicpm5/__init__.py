"""MiniCPM5: a plain llama network with its own chat format."""
