"""The command line: one file a verb, no logic. Verbs import what they use inside the function."""
