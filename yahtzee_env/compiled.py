"""Rule sets compiled to one record of arrays, the form that the kernels read."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from yahtzee_env.dice import FIVE_ALIKE, N_FACES, N_ROLLS
from yahtzee_env.rules import MAX_BOXES, MAX_STEPS, Ruleset

RULES = np.dtype(
    [
        ("points", "i2", (2, N_ROLLS, MAX_BOXES)),  # without and with joker points
        ("upper_face", "i4", (MAX_BOXES,)),  # 0 for a lower box
        ("box_of_face", "i4", (N_FACES + 1,)),  # -1 if the face has no upper box
        ("step_at", "i4", (MAX_STEPS,)),
        ("step_pays", "i4", (MAX_STEPS,)),
        ("n_steps", "i4"),
        ("n_boxes", "i4"),
        ("padded_boxes", "i4"),  # n_boxes rounded up to a multiple of 8
        ("all_boxes", "i4"),  # sets of boxes: bit k is box k
        ("upper_boxes", "i4"),
        ("upper_most", "i4"),  # the highest score of an upper box
        ("five_alike_box", "i4"),  # -1 for none
        ("tracks_five_alike", "i4"),  # whether it matters that the five-alike box holds points
        ("extra_bonus", "i4"),
        ("joker", "i4"),
        ("joker_after_zero", "i4"),
        ("upper_first", "i4"),
    ],
    align=True,
)

JOKER_CODES = {"none": 0, "forced": 1, "free": 2}


@lru_cache(maxsize=64)
def compile_ruleset(ruleset: Ruleset) -> NDArray[np.void]:
    """The rule set as a read-only array of one `RULES` record."""
    compiled = np.zeros(1, RULES)
    rules = compiled[0]
    n_boxes = len(ruleset.boxes)
    rules["points"][0, :, :n_boxes] = np.transpose([box.scores for box in ruleset.boxes])
    rules["points"][1] = rules["points"][0]
    rules["box_of_face"] = -1
    for k, box in enumerate(ruleset.boxes):
        if box.joker_score is not None:
            rules["points"][1, FIVE_ALIKE > 0, k] = box.joker_score
        if box.face is not None:
            rules["upper_face"][k] = box.face
            rules["box_of_face"][box.face] = k
            rules["upper_boxes"] |= 1 << k
            rules["upper_most"] = max(rules["upper_most"], *box.scores, box.joker_score or 0)
    for step, (at, pays) in enumerate(ruleset.bonus_steps):
        rules["step_at"][step], rules["step_pays"][step] = at, pays
    rules["n_steps"] = len(ruleset.bonus_steps)
    rules["n_boxes"] = n_boxes
    rules["padded_boxes"] = -(-n_boxes // 8) * 8
    rules["all_boxes"] = (1 << n_boxes) - 1
    named = ruleset.five_alike_box
    rules["five_alike_box"] = -1 if named is None else ruleset.box_index(named)
    rules["tracks_five_alike"] = ruleset.tracks_five_alike
    rules["extra_bonus"] = ruleset.extra_bonus
    rules["joker"] = JOKER_CODES[ruleset.joker]
    rules["joker_after_zero"] = ruleset.joker_after_zero
    rules["upper_first"] = ruleset.fill_order == "upper_first"
    compiled.flags.writeable = False
    return compiled
