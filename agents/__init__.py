"""Learning agents for yahtzee_env: run from a clone of the repository, not part of the wheel."""

import os

# Must be set before torch is imported. A waiting thread of torch spins on its core; where another
# process wants that core, training on two threads is then several times slower than on one.
os.environ.setdefault("GOMP_SPINCOUNT", "1000")
