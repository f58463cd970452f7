"""Commands, tables and analyses of the system `dual`, built on vtr_core."""
