"""The inbox of a store: what robots and rigs send, on its way in."""
