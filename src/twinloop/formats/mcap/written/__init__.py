"""MCAP files that twinloop wrote, read back as the recordings that they were."""
