"""Quantizing models: how many bits each module gets, and the folder that comes of it."""
