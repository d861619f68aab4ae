"""Running the command as a user does."""

from __future__ import annotations

import sys

import pytest

from twinloop.cli.main import main


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Runs twinloop in an empty folder and expects its exit code; gives what it printed (`out`, `err`)."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TWINLOOP_STORE", raising=False)

    def twinloop(*words, code=0):
        capsys.readouterr()
        monkeypatch.setattr(sys, "argv", ["twinloop", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            main()
            raise SystemExit(0)
        done = capsys.readouterr()
        assert (ended.value.code or 0) == code, done.out + done.err
        return done

    return twinloop
