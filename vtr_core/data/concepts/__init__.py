"""The concepts of a data set's captions: counted, reported, kept as soft labels of its videos."""
