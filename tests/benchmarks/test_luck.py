import numpy as np
import pytest
from small_run import small

from agents.train import main as train
from benchmarks import luck


def test_a_score_distribution_is_that_of_the_games():
    scores = np.array([250, 100, 250, 300])
    found = luck.score_distribution(scores)
    assert (found.mean, found.std) == pytest.approx((scores.mean(), scores.std()))
    assert found.at_least(250) == 0.75
    assert found.cvar(0.25) == 100


@pytest.mark.slow
def test_the_page_and_its_picture_are_made_from_a_run(tmp_path, monkeypatch):
    config, run, page = tmp_path / "small.yaml", tmp_path / "run", tmp_path / "page.md"
    config.write_text(small(algorithm="qrdqn").to_yaml())
    assert train(["--config", str(config), "--run-dir", str(run)]) == 0
    page.write_text(f"# Title\n\n{luck.BEGIN}old\n{luck.END}\nText.\n")
    monkeypatch.setattr(luck, "PAGE", page)
    monkeypatch.setattr(luck, "PICTURE", tmp_path / "picture.png")
    monkeypatch.setattr("sys.argv", ["luck", str(run), "--games", "50"])
    luck.main()
    assert (tmp_path / "picture.png").stat().st_size > 10_000
    text = page.read_text()
    assert text.startswith("# Title\n\n<!--")
    assert text.endswith(f"{luck.END}\nText.\n")
    assert "| optimal play (exact) | 254.6 | 59.6 |" in text
    assert "old" not in text
