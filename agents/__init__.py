"""Learning agents for yahtzee_env: run from a clone of the repository, not part of the wheel."""
