"""Wire protocols, one package an API surface."""
