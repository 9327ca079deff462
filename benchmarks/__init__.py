"""Measurements of speed; each module is one command."""
