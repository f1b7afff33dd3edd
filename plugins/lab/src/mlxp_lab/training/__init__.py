"""Fine-tuning: low-rank terms learned from rows of a dataset, by answers or by preferences."""
