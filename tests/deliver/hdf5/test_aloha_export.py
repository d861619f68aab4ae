"""ALOHA's layout, read with plain h5py as ACT's loader does."""

from __future__ import annotations

import io
from dataclasses import replace

import av
import h5py
import numpy as np
import pytest
from export_lab import expected_values, files_of, number_of, packets_of

from twinloop.core.errors import UsageError
from twinloop.deliver.frames import Images
from twinloop.deliver.hdf5.aloha import AlohaOptions, export_aloha
from twinloop.deliver.rows import CameraClock
from twinloop.formats.video.pixels import to_pixels

TOP, WRIST = CameraClock("top"), CameraClock("wrist")


def test_pixels(session, lab, tmp_path):
    account = export_aloha([session], tmp_path / "out", AlohaOptions(TOP))
    with h5py.File(tmp_path / "out/episode_1.hdf5") as file:
        assert file.attrs["sim"] == False and file.attrs["compress"] == False  # noqa: E712  (numpy's own bool)
        rows = file["twinloop/row_ns"][:]
        assert np.array_equal(file["observations/qpos"], expected_values(session, rows, "observation.state"))
        assert np.array_equal(file["action"], expected_values(session, rows, "action"))
        images = file["observations/images"]
        assert sorted(images) == ["depth", "top", "wrist"]
        assert [number_of(image) for image in images["top"]] == [k % 26 for k in range(30, 60)]
        assert np.array_equal(images["depth"][0, :, :, 0], lab.pixels(30, deep=True))
        assert np.array_equal(file["twinloop/features/leader.state"], file["observations/qpos"])
        assert file["twinloop"].attrs["instruction"] == "put it down"
    assert any("leader.state" in lost for lost in account.lost)


def test_own_jpegs_are_padded_to_the_longest(lab, tmp_path):
    session = lab.session(jpeg_only=True)
    account = export_aloha([session], tmp_path / "out", AlohaOptions(WRIST))
    packets = packets_of(lab.folder / "w.mkv")
    assert account.cameras["observation.images.wrist"].copied == 60
    for number in range(2):
        with h5py.File(tmp_path / f"out/episode_{number}.hdf5") as file:
            assert file.attrs["compress"]
            padded, lengths = file["observations/images/wrist"], file["compress_len"][0].astype(int)
            mine = packets[30 * number : 30 * number + 30]
            assert padded.shape == (30, max(map(len, mine)))
            assert [bytes(row[:length]) for row, length in zip(padded, lengths, strict=True)] == mine
            assert not any(row[length:].any() for row, length in zip(padded, lengths, strict=True))


def test_jpeg_where_it_is_asked_for(session, tmp_path):
    export_aloha([session], tmp_path / "out", AlohaOptions(TOP, images=Images.JPEG))
    with h5py.File(tmp_path / "out/episode_0.hdf5") as file:
        assert file["compress_len"].shape == (2, 30)  # depth stays pixels
        with av.open(io.BytesIO(bytes(file["observations/images/top"][4]))) as image:
            assert number_of(to_pixels(next(image.decode(video=0)))) == 4


def test_the_same_session_gives_the_same_bytes(session, tmp_path):
    for name in ("a", "b"):
        export_aloha([session], tmp_path / name, AlohaOptions(TOP))
    assert files_of(tmp_path / "a") == files_of(tmp_path / "b")


def test_what_aloha_cannot_hold_is_refused(session, tmp_path):
    features = session.mapping.features
    no_state = tuple(f for f in features if f.name != "observation.state")
    no_action = tuple(f for f in features if f.name != "action")
    for kept, said in ((no_state, "needs qpos"), (no_action, "needs an action")):
        with pytest.raises(UsageError, match=said):
            less = replace(session, mapping=replace(session.mapping, features=kept))
            export_aloha([less], tmp_path / "out", AlohaOptions(TOP))
    with pytest.raises(UsageError, match="own, jpeg or raw"):
        export_aloha([session], tmp_path / "out", AlohaOptions(TOP, images=Images.PNG))


def test_joints_are_found_by_their_field(session, tmp_path):
    renamed = tuple(
        replace(f, name="observation.arm") if f.name == "observation.state" else f
        for f in session.mapping.features
    )
    arm = replace(session, mapping=replace(session.mapping, features=renamed))
    export_aloha([arm], tmp_path / "out", AlohaOptions(TOP))
    with h5py.File(tmp_path / "out/episode_0.hdf5") as file:
        assert file["observations/qpos"].shape == (30, 2)
