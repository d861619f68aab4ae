"""Sending finished recordings from a robot or rig to a store, most urgent first."""
