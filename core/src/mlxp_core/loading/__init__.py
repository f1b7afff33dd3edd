"""A model folder becomes two halves: one without arrays, one with them."""
