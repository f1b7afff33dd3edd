"""What is measured of a server that runs. Each measure asks, and adds samples under names; see ``report.ROWS``."""
