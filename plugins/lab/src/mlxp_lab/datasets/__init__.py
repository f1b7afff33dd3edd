"""Datasets: rows that models learn from, in files of JSON lines: imported, inspected, edited, split, generated."""
