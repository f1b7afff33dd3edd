"""Our own paths: health, models, the service card, statistics, cancelling."""
