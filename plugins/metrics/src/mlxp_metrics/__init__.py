"""What the server does, in numbers that Prometheus reads."""
