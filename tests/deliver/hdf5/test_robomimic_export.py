"""robomimic's layout (https://robomimic.github.io/docs/datasets/overview.html), read with plain h5py."""

from __future__ import annotations

import json
from dataclasses import replace

import h5py
import numpy as np
import pytest
from export_lab import START_NS, expected_values, number_of

from twinloop.core.errors import UsageError
from twinloop.core.kinds import Role
from twinloop.deliver.hdf5.robomimic import RobomimicOptions, export_robomimic
from twinloop.deliver.rows import CameraClock

TOP = CameraClock("top")


def test_the_documented_layout(session, lab, tmp_path):
    export_robomimic([session], tmp_path / "demo.hdf5", RobomimicOptions(TOP))
    with h5py.File(tmp_path / "demo.hdf5") as file:
        data = file["data"]
        assert sorted(data) == ["demo_0", "demo_1"]
        assert data.attrs["total"] == 60
        assert set(json.loads(data.attrs["env_args"])) == {"env_name", "type", "env_kwargs"}
        demo = data["demo_0"]
        assert demo.attrs["num_samples"] == 30 and "model_file" not in demo.attrs
        rows = demo["twinloop/row_ns"][:]
        assert rows[0] == START_NS
        for key, feature in (("actions", "action"), ("obs/state", "observation.state")):
            assert np.array_equal(demo[key], expected_values(session, rows, feature))
            assert demo[key].dtype == np.float64
        assert demo["dones"][:].tolist() == [0] * 29 + [1]
        assert demo["rewards"][:].tolist() == [0] * 29 + [1]
        assert not data["demo_1/rewards"][:].any()
        assert demo["obs/top"].shape == (30, 48, 64, 3) and demo["obs/top"].dtype == np.uint8
        assert [number_of(image) for image in data["demo_1/obs/top"]] == [k % 26 for k in range(30, 60)]
        assert np.array_equal(demo["obs/depth"][7, :, :, 0], lab.pixels(7, deep=True))
        assert sorted(demo["obs"]) == ["depth", "state", "top", "wrist"]  # the leader is no observation
        assert np.array_equal(demo["leader_state"], demo["obs/state"])
        assert file["mask/train"][:].tolist() == [b"demo_0", b"demo_1"]
        assert data["demo_1/twinloop"].attrs["outcome"] == "failure"
        assert "next_obs" not in demo


def test_next_observations_are_those_of_the_next_step(session, tmp_path):
    export_robomimic([session], tmp_path / "demo.hdf5", RobomimicOptions(TOP, next_obs=True))
    with h5py.File(tmp_path / "demo.hdf5") as file:
        demo = file["data/demo_0"]
        for key in ("state", "top"):
            assert np.array_equal(demo["next_obs"][key][:-1], demo["obs"][key][1:])
            assert np.array_equal(demo["next_obs"][key][-1], demo["obs"][key][-1])


def test_splits_keep_the_parts_of_an_episode_together(session, tmp_path):
    export_robomimic([session], tmp_path / "demo.hdf5", RobomimicOptions(TOP, valid_share=0.5, float32=True))
    with h5py.File(tmp_path / "demo.hdf5") as file:
        assert file["mask/train"][:].tolist() == [b"demo_0"]
        assert file["mask/valid"][:].tolist() == [b"demo_1"]
        assert file["data/demo_0/actions"].dtype == np.float32
    with pytest.raises(UsageError, match="a share of"):
        RobomimicOptions(TOP, valid_share=0.9)


def test_the_same_session_gives_the_same_bytes(session, tmp_path):
    for name in ("a", "b"):
        export_robomimic([session], tmp_path / name, RobomimicOptions(TOP))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert (tmp_path / "a.twinloop/account.json").exists()


def test_no_action_no_robomimic(session, tmp_path):
    features = tuple(f for f in session.mapping.features if f.role is not Role.ACTION)
    silent = replace(session, mapping=replace(session.mapping, features=features))
    with pytest.raises(UsageError, match="needs actions"):
        export_robomimic([silent], tmp_path / "demo.hdf5", RobomimicOptions(TOP))
    assert not list(tmp_path.glob("demo*"))
