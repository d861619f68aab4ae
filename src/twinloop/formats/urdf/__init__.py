"""Robot descriptions (URDF): the text as a stream of one row, joints and limits as metadata, meshes attached.

Meshes that are named by ``package://name/path`` are looked for above the description, as far as the path
lies below one of the folders there.
"""
