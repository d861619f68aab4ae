"""Sessions as MCAP files that Foxglove and Rerun open, and that twinloop reads back as they were."""
