"""How fast models are on this machine: measured, kept, shown beside what is predicted."""
