"""How Qwen 3.5 sees: by a tower whose neighbouring patches are merged into soft tokens."""
