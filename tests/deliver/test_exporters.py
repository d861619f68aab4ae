"""The registry of exporters: built-ins, with the options that all formats have."""

from __future__ import annotations

import pytest

from twinloop.core.errors import MissingExtraError
from twinloop.deliver.exporter import EXPORTS
from twinloop.deliver.options import RowOptions
from twinloop.deliver.rows import CameraClock

ROWS = ("aloha", "lerobot", "rlds", "robomimic", "webdataset", "zarr")


@pytest.mark.parametrize("name", ROWS)
def test_each_writes_with_the_options_of_all(session, tmp_path, name):
    exporter = EXPORTS.get(name)
    assert exporter.name == name and exporter.keeps and exporter.loses
    account = exporter.export([session], tmp_path / "out", RowOptions(CameraClock("top")))
    assert account.rows == 60 and (tmp_path / "out").exists()
    planned = exporter.export([session], None, RowOptions(CameraClock("top")))
    assert planned.dry_run and planned.rows == 60


@pytest.mark.parametrize(("name", "package"), [("aloha", "h5py"), ("robomimic", "h5py"), ("zarr", "zarr")])
def test_a_missing_package_names_its_extra(session, tmp_path, monkeypatch, name, package):
    monkeypatch.setitem(__import__("sys").modules, package, None)
    with pytest.raises(MissingExtraError, match=rf"twinloop\[{EXPORTS.get(name).extra}\]"):
        EXPORTS.get(name).export([session], tmp_path / "out", RowOptions(CameraClock("top")))
    assert not (tmp_path / "out").exists()
