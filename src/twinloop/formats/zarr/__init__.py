"""Zarr, v2 and v3, in the layout of diffusion policy and UMI: a folder, or a .zip of it.

``data/<key>`` are arrays with one row a step, all episodes one after the other; ``meta/episode_ends`` says
where each ends. An array whose codec is not installed (UMI's JPEG XL needs imagecodecs) is noted, the others
are read. The times of the steps are ``data/timestamp_ns``, whole numbers, or ``data/timestamp``, in seconds,
where it never falls; else there are none, see `formats.steps`. The group `twinloop` of exports of ours has
times, features and what is known of episodes. Chunks that are not there are what Zarr says they are, fill
values; shapes that would be little else are refused, and so are links.
"""
