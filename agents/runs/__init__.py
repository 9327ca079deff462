"""A training run: its loop, folder, history, checkpoints and callbacks."""
