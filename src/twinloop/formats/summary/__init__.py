"""What `twinloop info` tells of a recording: facts from its index, as JSON and for the terminal."""
