import csv

from agents.curves import main, passing, read


def write(path, scores):
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["timesteps", "games", "seconds", "luck_adjusted_mean"])
        table.writerows([1000 * i, 30 * i, 60.5 * i, score] for i, score in enumerate(scores, 1))


def test_the_first_evaluation_that_passes_a_score_is_found(tmp_path):
    path = tmp_path / "evaluations.csv"
    write(path, [200.0, 241.0, 243.0, 242.0])
    curve = read(path)
    assert passing(curve, 241.0) == {"games": 60, "timesteps": 2000, "seconds": 121}
    assert passing(curve, 250.0) is None


def test_the_command_draws_the_curves_and_prints_a_line_for_each_run(tmp_path, capsys):
    for name, scores in (("strong", [230.0, 242.0]), ("weak", [100.0, 120.0])):
        (tmp_path / name).mkdir()
        write(tmp_path / name / "evaluations.csv", scores)
    for wrong in ("pyproject.toml", "nowhere.csv", "."):
        assert main([wrong]) == 2
        assert "error: " in capsys.readouterr().err
    files = [str(tmp_path / name / "evaluations.csv") for name in ("strong", "weak")]
    assert main([*files, "--output", str(tmp_path / "curves.png")]) == 0
    strong, weak = capsys.readouterr().out.splitlines()
    assert strong.startswith("strong: 242.00 at the end; 241.78 passed")
    assert strong.endswith("after 60 games, 2,000 timesteps, 121 seconds")
    assert weak == "weak: 120.00 at the end"
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")


def test_runs_of_one_name_are_told_apart(tmp_path, capsys):
    files = []
    for folder in ("a", "b"):
        (tmp_path / folder / "run").mkdir(parents=True)
        files.append(str(tmp_path / folder / "run" / "evaluations.csv"))
        write(tmp_path / folder / "run" / "evaluations.csv", [100.0, 120.0])
    assert main([*files, "--output", str(tmp_path / "curves.png")]) == 0
    assert [line.split(": ")[0] for line in capsys.readouterr().out.splitlines()] == files


def test_a_damaged_file_is_named(tmp_path, capsys):
    path = tmp_path / "evaluations.csv"
    write(path, ["abc"])
    assert main([str(path)]) == 2
    assert str(path) in capsys.readouterr().err
