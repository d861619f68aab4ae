"""Boxes of tracked things in videos: MOT Challenge (CSV), UA-DETRAC (XML), VATIC (text).

Rows are boxes of numbered frames; there are no times, and no files say the videos' rates. Boxes are kept as
corners in the source's pixels (MOT Challenge counts them from 1).
"""
