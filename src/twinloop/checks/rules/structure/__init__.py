"""STR: is everything there, and is it what it claims to be?"""
