"""Reports for people and for programs, one file a form."""
