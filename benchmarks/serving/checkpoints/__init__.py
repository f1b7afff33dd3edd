"""Model folders to measure servers with: real shapes, random layers, and answers that are known."""
