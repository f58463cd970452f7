"""What makes the site beside its written pages."""
