"""Views of results: they read plain results and compute nothing."""
