"""WebDataset: tar files of samples, each sample some files of one base name."""
