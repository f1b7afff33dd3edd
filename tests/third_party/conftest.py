"""The strangers' own suites run where their packages are installed: see tests/packaging."""

collect_ignore_glob = ["mlxp-*"]
