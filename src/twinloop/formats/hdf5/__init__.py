"""HDF5 files of learning datasets, known by their layout.

- robomimic and LIBERO: ``data/demo_N`` with ``actions``, ``obs/*``, ``rewards``; filters in ``mask/``
- ALOHA / ACT: ``observations/qpos``, ``observations/images/*``, ``action``; pictures raw or as padded JPEGs;
  a file, or a folder of nothing but ``episode_N.hdf5``, which is one recording
- OpenArm's collector: ``observations/left_q``, ``right_q``, ``timestamp``
- DROID: a folder with trajectory.h5, metadata_*.json and ``recordings/MP4``; true times apart for each part
- any other, by a mapping file ``<file>.twinloop.toml`` (see `mapping`)

What HDF5 can do beyond that is refused and noted: external links and storage, virtual datasets, filters that
need a plug-in. Declared shapes are held against the bytes that are there before anything is read.
"""
