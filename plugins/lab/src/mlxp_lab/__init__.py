"""Jobs on models: what a kind of job is (``mlxp_lab.jobs``), and the kinds that come with the lab."""
