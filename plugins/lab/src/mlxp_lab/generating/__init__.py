"""Datasets that are made: from texts by rule, or written by a served model."""
