"""Commands, tables and analyses of the system `captioning`, built on vtr_core."""
