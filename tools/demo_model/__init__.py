"""Makes the demonstration model that ships with mlxp: its data, its training, its evaluation, its files."""
