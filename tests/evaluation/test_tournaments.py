"""Tournaments: pairs, standings, tables of several, workers, and the command."""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from yahtzee_env.cli import run
from yahtzee_env.evaluation import duel, tournament

NAMES = ["random", "greedy-turn", "strategist"]


def test_pairs_are_those_of_duels() -> None:
    result = tournament(NAMES, "yacht", games=60, seed=3)
    for pair in result.pairs:
        alone = duel(pair.first, pair.second, "yacht", games=60, seed=3)
        assert (pair.win, pair.tie, pair.loss) == pytest.approx(alone.outcomes)
        assert pair.share.mean == pytest.approx(alone.share.mean)
        assert pair.share.sem == pytest.approx(alone.share.sem)
    assert [pair.first for pair in result.pairs] == ["random", "random", "greedy-turn"]


def test_standings_are_in_the_order_of_strength_and_zero_on_average() -> None:
    result = tournament(["greedy-turn", "random", "optimal"], "yacht", games=400)
    assert [one.policy for one in result.standings] == ["optimal", "greedy-turn", "random"]
    assert sum(one.rating for one in result.standings) == pytest.approx(0, abs=1e-6)
    assert result.standings[0].mean > result.standings[1].mean > result.standings[2].mean
    assert sum(one.share.mean for one in result.standings) == pytest.approx(1.5)


def test_at_a_table_of_three_everybody_sits_everywhere_equally_often() -> None:
    result = tournament([*NAMES, "greedy-no-reroll"], "yacht", games=60, table=3)
    assert result.table == 3
    assert len(result.pairs) == 6
    assert sum(one.share.mean for one in result.standings) == pytest.approx(4 / 3)
    assert 0 < result.moving_first.mean < 1


def test_equal_players_win_equally_often_wherever_they_sit() -> None:
    class Twin:
        deterministic = True

        def __init__(self, name: str, policy: Any) -> None:
            self.name, self.act = name, policy.act

    from yahtzee_env import load_policy

    twins = [Twin(name, load_policy("greedy-turn")) for name in "abc"]
    result = tournament(twins, "yacht", games=90, table=3)
    assert [one.share.mean for one in result.standings] == pytest.approx([1 / 3] * 3)
    assert [one.rating for one in result.standings] == pytest.approx([0] * 3, abs=1e-6)


def test_workers_do_not_change_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("yahtzee_env.evaluation.duels.CHUNK", 7)
    shares: list[float] = []
    with ThreadPoolExecutor(3) as pool:
        several = tournament(NAMES, "yacht", games=40, executor=pool, progress=shares.append)
    assert several == tournament(NAMES, "yacht", games=40)
    assert shares[-1] == 1.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"policies": ["random"]}, "needs at least so many policies, not 1"),
        ({"policies": []}, "needs at least so many policies, not 0"),
        ({"policies": ["random", "random"]}, "policies must have different names"),
        ({"table": 11}, "a table has 2 to 10 players, not 11"),
        ({"table": 3, "games": 100}, "games must be a multiple of 3, at least 6"),
        ({"games": 2}, "games must be a multiple of 2, at least 4"),
        ({"policies": ["random", "nobody"]}, "unknown policy 'nobody'"),
    ],
)
def test_what_does_not_fit_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tournament(**{"policies": NAMES, "ruleset": "yacht", "games": 100, **arguments})


def test_the_command_prints_a_table_or_json(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["tournament", "random", "greedy-turn", "--ruleset", "yacht", "--games", "20"]
    run([*words, "--workers", "1"])
    text = capsys.readouterr().out
    assert "greedy-turn" in text
    assert "Whoever moves first" in text
    run([*words, "--workers", "2", "--json"])
    data = json.loads(capsys.readouterr().out)
    expected = tournament(["random", "greedy-turn"], "yacht", games=20).to_dict()
    assert data == json.loads(json.dumps(expected))


def test_the_command_refuses_in_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run(["tournament", "random", "--workers", "1"])
    assert "needs at least so many policies" in capsys.readouterr().err
