"""Copies of a store elsewhere: made, remembered, and compared."""
