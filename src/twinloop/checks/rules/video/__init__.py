"""VID: do images and rows belong together?"""
