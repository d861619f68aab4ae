"""Ouster captures: points by the manual's formula, the SDK's own digests, both clocks, losses, two sensors."""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path

import numpy as np
import pytest

from twinloop.core.calibration import frames_of
from twinloop.core.clock import Epoch
from twinloop.core.errors import UnreadableError
from twinloop.formats.notes import Notes
from twinloop.formats.ouster.capture import read_capture
from twinloop.formats.ouster.crc import crc64
from twinloop.formats.ouster.datagrams import Assembler
from twinloop.formats.ouster.metadata import read_metadata
from twinloop.formats.ouster.packets import LidarPackets
from twinloop.formats.ouster.profiles import PROFILES
from twinloop.formats.reader import ReadOptions, open_recording
from twinloop.testing.ouster_writer import (
    CAPTURE_NS,
    INIT_ID,
    SERIAL,
    START_NS,
    Datagram,
    ranges_mm,
    recording,
    write_metadata,
    write_pcap,
)

PCAPS = "ouster-pcap/tests/pcaps"
_TYPES = {2: "u1", 4: "<u2", 6: "<u4", 7: "<f4"}


def clouds(path: Path, stream: str = "points") -> list[np.ndarray]:
    """The clouds (H, W) of a stream, as structured arrays."""
    found = []
    with open_recording(path) as opened:
        for batch in opened.scan([stream]):
            fields = json.loads(batch.columns.column("fields")[0].as_py())
            points = np.dtype([(f["name"], _TYPES[f["datatype"]]) for f in fields])
            assert batch.columns.column("point_step")[0].as_py() == points.itemsize
            height, width = (batch.columns.column(name)[0].as_py() for name in ("height", "width"))
            assert batch.payload is not None
            found += [np.frombuffer(one, points).reshape(height, width) for one in batch.payload]
    return found


@pytest.mark.parametrize("profile", sorted(PROFILES))
def test_points_are_where_the_manual_s_formula_puts_them(tmp_path: Path, profile: str) -> None:
    sensor = write_metadata(tmp_path / "a.json", profile)
    path = write_pcap(tmp_path / "a.pcap", recording(sensor, 2))
    assert sensor.lidar is not None
    for frame, cloud in enumerate(clouds(path)):
        ranges = ranges_mm(sensor.lidar, sensor.columns, frame).T
        np.testing.assert_array_equal(cloud["range"], ranges)
        np.testing.assert_array_equal(np.isnan(cloud["x"]), ranges == 0)
        np.testing.assert_array_equal(cloud["t"][0], np.arange(64) * (100_000_000 // 64))
        np.testing.assert_array_equal(cloud["ring"][:, 5], np.arange(16))
        for ring, column in ((0, 1), (3, 40), (15, 63)):
            if ranges[ring, column]:
                got = [cloud[axis][ring, column] for axis in "xyz"]
                np.testing.assert_allclose(got, _formula(sensor, ranges[ring, column], ring, column), atol=2e-6)
        if "signal" in (cloud.dtype.names or ()):
            np.testing.assert_array_equal(cloud["signal"], ranges // 8 % 5000)
        np.testing.assert_array_equal(cloud["reflectivity"], ranges // 8 % 200)
    if sensor.lidar.returns == 2:
        second = clouds(path, "points2")[1]
        expected = ranges_mm(sensor.lidar, sensor.columns, 1).T
        np.testing.assert_array_equal(second["range"], np.where(expected > 0, expected + 80, 0))


def _formula(sensor, range_mm: int, ring: int, column: int) -> list[float]:  # type: ignore[no-untyped-def]
    """The manual's formula, one point at a time, in metres."""
    n = 15.806
    encoder = 2 * math.pi * (1 - column / sensor.columns)
    azimuth = -2 * math.pi * sensor.azimuth[ring] / 360
    phi = 2 * math.pi * sensor.altitude[ring] / 360
    r = float(range_mm) - n
    return [
        (r * math.cos(encoder + azimuth) * math.cos(phi) + n * math.cos(encoder)) / 1000,
        (r * math.sin(encoder + azimuth) * math.cos(phi) + n * math.sin(encoder)) / 1000,
        r * math.sin(phi) / 1000,
    ]


def test_the_sensor_s_time_and_the_capture_s_are_apart(tmp_path: Path) -> None:
    sensor = write_metadata(tmp_path / "a.json")
    with open_recording(write_pcap(tmp_path / "a.pcap", recording(sensor, 3))) as opened:
        points, motion = opened.read("points"), opened.read("imu")
        stream = opened.streams["points"]
        frames = frames_of(opened.calibration)
    assert points.column("stamp_ns").to_pylist() == [START_NS + k * 100_000_000 for k in range(3)]
    assert points.column("log_ns")[0].as_py() == CAPTURE_NS
    assert points.column("seq").to_pylist() == [1000, 1001, 1002]
    assert (stream.stamp_clock.epoch, stream.log_clock.epoch) == (Epoch.DEVICE, Epoch.UNIX)
    assert (stream.count, stream.rate_hz) == (3, 10.0)
    np.testing.assert_allclose(motion.column("linear_acceleration")[0].as_py(), [0, 0, 9.80665])
    np.testing.assert_allclose(motion.column("angular_velocity")[0].as_py(), [0, 0, math.pi / 2], rtol=1e-6)
    assert motion.column("gyro_ns")[0].as_py() == START_NS + 10
    assert frames["os_lidar"].parent == "os_sensor"
    np.testing.assert_allclose(frames["os_lidar"].translation, [0, 0, 0.038195])
    np.testing.assert_allclose(np.abs(frames["os_lidar"].rotation), [0, 0, 0, 1], atol=1e-9)
    np.testing.assert_allclose(frames["os_imu"].translation, [0.006253, -0.011775, 0.007645])


def test_times_by_ptp_are_on_the_unix_clock(tmp_path: Path) -> None:
    sensor = write_metadata(tmp_path / "a.json", config_params={"timestamp_mode": "TIME_FROM_PTP_1588"})
    packets = [
        Datagram(d.time_ns, d.port, _restamped(d.data, sensor.lidar)) if len(d.data) > 48 else d
        for d in recording(sensor, 1)
    ]
    with open_recording(write_pcap(tmp_path / "a.pcap", packets)) as opened:
        assert opened.streams["points"].stamp_clock.epoch is Epoch.UNIX


def _restamped(data: bytes, layout) -> bytes:  # type: ignore[no-untyped-def]
    packet = bytearray(data)
    for k in range(layout.columns):
        at = layout.header + k * layout.column
        packet[at : at + 8] = (CAPTURE_NS + k).to_bytes(8, "little")
    packet[-8:] = bytes(8)  # as older firmware leaves the checksum out
    return bytes(packet)


def test_frame_numbers_wrap_and_lost_turns_and_columns_are_counted(tmp_path: Path) -> None:
    sensor = write_metadata(tmp_path / "a.json")
    packets = [d for d in recording(sensor, 6, first_frame=65_533) if len(d.data) > 48]
    del packets[4 * 3 : 4 * 4]  # the fourth turn
    del packets[5]  # a packet of the second
    with open_recording(write_pcap(tmp_path / "a.pcap", packets)) as opened:
        points = opened.read("points")
        notes = {note.message: note.lost for note in opened.notes}
    assert points.column("seq").to_pylist() == [65_533, 65_534, 65_535, 65_537, 65_538]
    assert points.column("columns_seen").to_pylist() == [64, 48, 64, 64, 64]
    assert notes == {
        "1 turns of the sensor are missing between those that are there": 1,
        "16 columns are missing in 1 of 5 turns": 0,
    }


def test_packets_out_of_order_are_put_in_their_turn(tmp_path: Path) -> None:
    sensor = write_metadata(tmp_path / "a.json")
    packets = [d for d in recording(sensor, 3) if len(d.data) > 48]
    packets[3], packets[4] = packets[4], packets[3]  # over the border of two turns
    cloud = clouds(write_pcap(tmp_path / "a.pcap", packets))
    assert sensor.lidar is not None
    for frame in range(3):
        np.testing.assert_array_equal(cloud[frame]["range"], ranges_mm(sensor.lidar, 64, frame).T)


def test_broken_checksums_are_noted_and_left_out(tmp_path: Path) -> None:
    sensor = write_metadata(tmp_path / "a.json")
    packets = [d for d in recording(sensor, 3) if len(d.data) > 48]
    broken = bytearray(packets[5].data)
    broken[900] ^= 4
    packets[5] = Datagram(packets[5].time_ns, packets[5].port, bytes(broken))
    path = write_pcap(tmp_path / "a.pcap", packets)
    with open_recording(path) as opened:
        assert opened.read("points").column("columns_seen").to_pylist() == [64, 48, 64]
        assert "1 lidar packets do not fit their checksum and were left out" in [
            n.message for n in opened.notes
        ]
    with open_recording(path, ReadOptions(verify=False)) as opened:
        assert opened.read("points").column("columns_seen").to_pylist() == [64, 64, 64]


def test_the_checksum_is_that_of_xz() -> None:
    assert int(crc64(np.frombuffer(b"123456789", np.uint8)[None])[0]) == 0x995DC9BBDF1939FA
    rng = np.random.default_rng(0)
    data = rng.integers(0, 256, (5, 1234), dtype=np.uint8)
    assert crc64(data).tolist() == [int(crc64(np.ascontiguousarray(row[None]))[0]) for row in data]


@pytest.mark.parametrize(
    "how",
    [
        {"link": 113},
        {"link": 101},
        {"vlan": True},
        {"nanoseconds": True},
        {"big_endian": True},
        {"fragment": 1480},
        {"fragment": 512, "link": 101},
    ],
)
def test_captures_of_every_form_hold_the_same(tmp_path: Path, how: dict[str, int]) -> None:
    sensor = write_metadata(tmp_path / "a.json", "LEGACY")
    path = write_pcap(tmp_path / "a.pcap", recording(sensor, 2), **how)  # type: ignore[arg-type]
    assert sensor.lidar is not None
    for frame, cloud in enumerate(clouds(path)):
        np.testing.assert_array_equal(cloud["range"], ranges_mm(sensor.lidar, 64, frame).T)


def test_a_missing_fragment_costs_its_datagram(tmp_path: Path) -> None:
    sensor = write_metadata(tmp_path / "a.json", "LEGACY")
    path = write_pcap(tmp_path / "a.pcap", recording(sensor, 2), fragment=1480)
    data = path.read_bytes()
    first = 24
    second = first + 16 + int.from_bytes(data[first + 8 : first + 12], "little")
    path.write_bytes(data[:first] + data[second:])
    with open_recording(path) as opened:
        assert opened.read("points").column("columns_seen").to_pylist() == [48, 64]
        assert "1 datagrams lack fragments" in [note.message for note in opened.notes]


def test_two_sensors_on_one_port_are_told_apart(tmp_path: Path) -> None:
    """By what their packets carry and who sends them; streams are named by serial number."""
    one = write_metadata(tmp_path / "a.1.json", "RNG19_RFL8_SIG16_NIR16")
    about = {"prod_sn": "122239000672", "initialization_id": 7, "prod_line": "OS-0"}
    two = write_metadata(tmp_path / "a.2.json", "RNG19_RFL8_SIG16_NIR16", sensor_info=about)
    write_metadata(tmp_path / "other.json", "LEGACY")
    both = [*recording(one, 2)]
    both += [Datagram(d.time_ns + 1, d.port, d.data, 0xC0A80002) for d in recording(two, 3)]
    both.sort(key=lambda d: d.time_ns)
    with open_recording(write_pcap(tmp_path / "a.pcap", both)) as opened:
        counts = {name: stream.count for name, stream in opened.streams.items()}
        assert {name: opened.read(name).num_rows for name in opened.streams} == counts
    assert counts == {
        f"{SERIAL}/points": 2,
        f"{SERIAL}/imu": 2,
        "122239000672/points": 3,
        "122239000672/imu": 3,
    }


def test_packets_of_no_described_sensor_are_counted(tmp_path: Path) -> None:
    sensor = write_metadata(tmp_path / "a.json")
    strangers = [Datagram(CAPTURE_NS + k, 9999, bytes(77)) for k in range(5)]
    with open_recording(write_pcap(tmp_path / "a.pcap", [*strangers, *recording(sensor, 1)])) as opened:
        assert opened.read("points").num_rows == 1
        assert [note.message for note in opened.notes] == [
            "5 packets of 77 bytes to port 9999 are of no sensor that is described"
        ]


def test_what_is_not_described_is_said(tmp_path: Path) -> None:
    sensor = write_metadata(tmp_path / "a.json")
    path = write_pcap(tmp_path / "a.pcap", recording(sensor, 1))
    (tmp_path / "a.json").unlink()
    with pytest.raises(UnreadableError, match="no metadata describes"):
        open_recording(path)
    write_pcap(path, [Datagram(CAPTURE_NS, 2368, bytes(1206))])
    with pytest.raises(UnreadableError, match="Velodyne"):
        open_recording(path)


def test_metadata_of_another_start_of_the_sensor_is_noted(tmp_path: Path) -> None:
    sensor = write_metadata(tmp_path / "a.json")
    path = write_pcap(tmp_path / "a.pcap", recording(sensor, 1))
    write_metadata(tmp_path / "a.json", sensor_info={"initialization_id": INIT_ID + 1})
    with open_recording(path) as opened:
        assert f"the packets are of start {INIT_ID}" in opened.notes[0].message


def test_a_broken_packet_header_costs_what_lies_around_it(tmp_path: Path) -> None:
    sensor = write_metadata(tmp_path / "a.json")
    path = write_pcap(tmp_path / "a.pcap", [d for d in recording(sensor, 4) if len(d.data) > 48])
    data = bytearray(path.read_bytes())
    at = 24
    for _ in range(5):
        at += 16 + int.from_bytes(data[at + 8 : at + 12], "little")
    data[at + 8 : at + 12] = b"\xff\xff\xff\x7f"
    path.write_bytes(data)
    with open_recording(path) as opened:
        assert opened.read("points").column("columns_seen").to_pylist() == [64, 48, 64, 64]
        assert opened.notes[0].problem.value == "corrupt"


def test_the_sdk_s_digests(test_data: Path) -> None:
    """MD5 sums that ouster-sdk made of every field of every packet of real sensors."""
    widths = {"range": "<u4", "signal": "<u2", "near_ir": "<u2", "flags": "u1", "reflectivity": "u1"}
    checked = 0
    for digest in sorted((test_data / PCAPS).glob("*_digest.json")):
        stem = digest.name.removesuffix("_digest.json")
        sensor = read_metadata(digest.with_name(f"{stem}.json"))
        assert sensor is not None and sensor.lidar is not None
        path, notes = digest.with_name(f"{stem}.pcap"), Notes()
        sums = {name: hashlib.md5() for name in (*sensor.lidar.fields, "timestamp", "measurement_id")}
        assembler = Assembler(path, notes)
        for records in read_capture(path, notes):
            datagrams = assembler.datagrams(records)
            mine = datagrams.take(np.flatnonzero(datagrams.length == sensor.lidar.size))
            packets = LidarPackets.of(sensor.lidar, mine)
            for k in range(len(packets)):
                for name, bits in sensor.lidar.fields.items():
                    values = bits.of(packets.pixels[k]).T.astype(widths[name.rstrip("2")])
                    sums[name].update(np.ascontiguousarray(values).tobytes())
                sums["timestamp"].update(packets.column_time_ns[k].astype("<u8").tobytes())
                sums["measurement_id"].update(packets.measurement[k].astype("<u2").tobytes())
        expected = json.loads(digest.read_text())["packet_hash"]
        for name, value in sums.items():
            assert value.hexdigest() == expected[name.upper()], (stem, name)
            checked += 1
    assert checked == 38


def test_real_captures(test_data: Path) -> None:
    counts = {}
    for path in sorted((test_data / PCAPS).glob("*.pcap")):
        if path.name.startswith("VLI"):
            with pytest.raises(UnreadableError, match="Velodyne"):
                open_recording(path)
            continue
        with open_recording(path) as opened:
            counts[path.stem] = {name: stream.count for name, stream in opened.streams.items()}
            assert {name: opened.read(name).num_rows for name in opened.streams if name != "zones"} == {
                name: count for name, count in counts[path.stem].items() if name != "zones"
            }
    assert counts["OS-1-128_v2.3.0_1024x10_lb_n3"] == {"points": 3, "imu": 30}
    assert counts["OS-0-32-U1_v2.2.0_1024x10"] == {"points": 1, "points2": 1, "imu": 10}
    assert counts["empty_pcap"] == {"points": 0, "points2": 0, "imu": 0}
    assert counts["imu_zm_no_lidar"] == {"points": 0, "imu": 64, "nmea": 0, "zones": 4}
    assert len(counts["same_ports"]) == 5
    assert counts["same_ports_nonlegacy"]["122239000672/imu"] == 1
    assert counts["crc_test"] == {"points": 2, "imu": 10}


def test_a_real_cloud_is_a_room(test_data: Path) -> None:
    cloud = clouds(test_data / PCAPS / "OS-1-32-G_v2.1.1_1024x10.pcap")[0]
    some = cloud["range"] > 0
    assert some.sum() == 27_310
    away = np.sqrt(sum(cloud[axis][some].astype(float) ** 2 for axis in "xyz"))
    np.testing.assert_allclose(away, cloud["range"][some] / 1000, atol=0.02)  # beams begin off the axis
    assert 99_000_000 < cloud["t"].max() < 100_000_000
