"""Robot execution failures (UCI): windows of fifteen samples of force and torque, each with its class.

The files hold a class and fifteen rows of six whole numbers a window. Their description adds that a window
lasts 315 ms at regular intervals: hence the grid of 21 ms. How far apart windows are nobody knows; here they
follow each other, each an episode. Units are undeclared.
"""
