"""Rules about labels of spans."""
