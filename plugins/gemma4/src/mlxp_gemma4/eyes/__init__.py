"""How Gemma 4 sees: by a tower (E2B, E4B, 26B-A4B, 31B), or by embedding the pixels as they are (12B)."""
