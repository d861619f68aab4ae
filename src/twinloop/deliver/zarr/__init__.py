"""Zarr as diffusion policy's and UMI's ReplayBuffer keeps it: all rows in `data`, episodes' ends in `meta`."""
