"""Adapters over HTTP: which are mounted, which could be, mounting and unmounting."""
