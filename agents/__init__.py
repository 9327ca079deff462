"""Learning agents for yahtzee_env: run from a clone of the repository, not part of the wheel."""

import os

# Must be set before torch is imported. A waiting thread of torch spins on its core, by default for
# so long that two threads are several times slower than one where another process wants that core.
os.environ.setdefault("GOMP_SPINCOUNT", "10000")
