"""Measurements that several rules share, each made once, in one pass, in memory that stays flat."""
