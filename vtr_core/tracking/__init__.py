"""Records of runs: MLflow, and a local JSON-lines file that does not need it."""
