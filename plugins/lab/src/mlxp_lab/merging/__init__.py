"""Merging: adapters become one, in the form of MLX's trainers or of PEFT."""
