"""Commands, tables and analyses of the system `siamese`, built on vtr_core."""
