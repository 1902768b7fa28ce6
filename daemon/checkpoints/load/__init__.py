"""Does a checkpoint load, in the training's own Python?"""
