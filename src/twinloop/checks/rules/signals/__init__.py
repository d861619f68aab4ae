"""SIG: are the numbers those of a working sensor?"""
