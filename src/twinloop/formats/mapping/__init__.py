"""Mappings at work: proposing one, checking it, and reading features and episodes through it."""
