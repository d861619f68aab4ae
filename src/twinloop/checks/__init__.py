"""Rules that find what is wrong with recordings, and the engine that runs them. Opens no store."""
