"""The parts of a proposed mapping: cameras, arms, other sensors, episodes; each with its reasons."""
