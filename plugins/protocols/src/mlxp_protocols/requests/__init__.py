"""``GET /v1/requests``: what runs, and what ended last."""
