"""ROS messages, ROS 1 and CDR, decoded as columns: all messages of a stream in a buffer at once.

The way of a message: `definitions` reads the text of its type into a tree; `plan` flattens the tree into a
few nodes (runs of fixed bytes, texts, repeats); `walk` finds where each node of each message lies, or
`template` recognises messages laid out like an earlier one, which `known_layouts` keeps; `rows` holds the
values found; `kinds` names which of them make which column; `decoder` ties this together.
"""
