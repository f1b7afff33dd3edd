"""A model that says what it heard."""
