"""Commands, tables and analyses of the system `muse`, built on vtr_core."""
