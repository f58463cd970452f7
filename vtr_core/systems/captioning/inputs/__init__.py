"""What a captioner reads of a data set, and of a table."""
