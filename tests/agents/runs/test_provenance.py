import json

from agents.runs import provenance


def test_the_commit_is_marked_only_if_code_has_changed(monkeypatch):
    answers = {"rev-parse": "0123abc\n", "diff": ""}
    monkeypatch.setattr(provenance, "_git", lambda command, *_: answers[command])
    assert provenance.provenance()["commit"] == "0123abc"
    answers["diff"] = "agents/algorithms/ppo.py\n"
    assert provenance.provenance()["commit"] == "0123abc-changed"


def test_it_names_versions_and_no_paths():
    facts = provenance.provenance()
    assert facts["packages"].keys() >= {"yahtzee-env", "torch"}
    assert "/" not in json.dumps(facts)
