"""Measurements of speed, of every player, and of ways to train; they need the extra `dev`."""
