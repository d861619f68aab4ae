"""twinloop turns recordings of robots and people into training data that can be trusted."""

__version__ = "0.1.0"
