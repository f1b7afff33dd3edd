"""A wire protocol of words: text in, text out."""
