"""Models of the Hugging Face hub: found by name, fetched, listed, removed."""
