"""Tables of actions in videos, as EPIC-KITCHENS publishes them: one row a segment, read as labels.

The table says video, start, stop, and in which words; a table of the videos beside it says their rates.
Each video is one stream, in the order of the starts. Beyond the columns of the kind there are, where the
table has them, `narrated_ns` (when the words were spoken), `start_frame` and `end_frame`.
"""
