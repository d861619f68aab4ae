"""Folders of pictures: numbered ones are streams, ``left01.jpg``, ``left02.jpg``... being one.

Files that are named by times since 1970 (``1305031102.175304.png``) have these times; others have the numbers
of their names and no times. Numbers that are missing within a run are told in the metadata.
"""
