"""Answers that have a shape: the automata behind the constraint contract."""
