"""SYN: do streams fit together in time?"""
