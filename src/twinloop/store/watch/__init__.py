"""The unattended pipeline: takes in whatever arrives, keeps a journal of it, writes a digest of each day."""
