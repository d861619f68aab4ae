"""Small datasets in RLDS, written as tensorflow_datasets writes them."""

from __future__ import annotations

import gzip
import json
import struct
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np
from tfrecord import example_pb2

from twinloop.formats.rlds.tfrecord import masked_crc
from twinloop.formats.video.still import encode_still

if TYPE_CHECKING:
    from pathlib import Path

PYTHON = "tensorflow_datasets.core.features."
TEXT = {"pythonClassName": PYTHON + "text_feature.Text", "text": {}}


def tensor(dtype: str, *shape: int | None, encoding: str = "none") -> dict[str, Any]:
    sizes = {"dimensions": [str(-1 if s is None else s) for s in shape]} if shape else {}
    return {
        "pythonClassName": PYTHON + "Tensor",
        "tensor": {"shape": sizes, "dtype": dtype, "encoding": encoding},
    }


def picture(
    height: int, width: int, channels: int = 3, *, dtype: str = "uint8", codec: str = "jpeg"
) -> dict[str, Any]:
    shape = {"dimensions": [str(height), str(width), str(channels)]}
    return {
        "pythonClassName": PYTHON + "Image",
        "image": {"shape": shape, "dtype": dtype, "encodingFormat": codec},
    }


def group(**features: Any) -> dict[str, Any]:
    return {"pythonClassName": PYTHON + "FeaturesDict", "featuresDict": {"features": features}}


def sequence(feature: dict[str, Any]) -> dict[str, Any]:
    return {"pythonClassName": PYTHON + "Dataset", "sequence": {"feature": feature, "length": "-1"}}


STEP = group(
    observation=group(image=picture(32, 48), wrist=picture(32, 48, codec="png"), state=tensor("float32", 7)),
    action=tensor("float32", 7),
    language_instruction=TEXT,
    is_first=tensor("bool"),
    is_last=tensor("bool"),
    is_terminal=tensor("bool"),
    reward=tensor("float32"),
    discount=tensor("float32"),
)
FEATURES = group(steps=sequence(STEP), episode_metadata=group(file_path=TEXT, episode_id=tensor("int64")))


def image(number: int, codec: str = "jpeg") -> bytes:
    """A picture that differs with its number."""
    pixels = np.full((32, 48, 3), 40, np.uint8)
    pixels[:, : 1 + number % 48] = (200, number % 256, 90)
    return encode_still(pixels, codec)


def episode(number: int, steps: int) -> dict[str, Any]:
    """The values of one record. Step k of episode e has state (e, k, 0...) and action (k, e, 0...)."""
    k = np.arange(steps)
    state = np.zeros((steps, 7), np.float32)
    state[:, 0], state[:, 1] = number, k
    return {
        "steps/observation/image": [image(10 * number + i) for i in k.tolist()],
        "steps/observation/wrist": [image(10 * number + i, "png") for i in k.tolist()],
        "steps/observation/state": state.ravel(),
        "steps/action": state[:, [1, 0, 2, 3, 4, 5, 6]].ravel(),
        "steps/language_instruction": [f"put cup {number} in the sink".encode()] * steps,
        "steps/is_first": (k == 0).astype(np.int64),
        "steps/is_last": (k == steps - 1).astype(np.int64),
        "steps/is_terminal": (k == steps - 1).astype(np.int64),
        "steps/reward": (k == steps - 1).astype(np.float32),
        "steps/discount": np.ones(steps, np.float32),
        "episode_metadata/file_path": [f"/raw/{number}.npy".encode()],
        "episode_metadata/episode_id": np.array([number]),
    }


def example(values: dict[str, Any]) -> bytes:
    """The values as a tf.train.Example, by the protobuf package."""
    message = example_pb2.Example()
    for key, value in values.items():
        feature = message.features.feature[key]
        if isinstance(value, list):
            feature.bytes_list.value.extend(value)
        elif np.issubdtype(np.asarray(value).dtype, np.floating):
            feature.float_list.value.extend(np.asarray(value).tolist())
        else:
            feature.int64_list.value.extend(np.asarray(value).tolist())
    return message.SerializeToString(deterministic=True)


def framed(record: bytes) -> bytes:
    """A record with its length and checksums."""
    head = struct.pack("<Q", len(record))
    return head + struct.pack("<I", masked_crc(head)) + record + struct.pack("<I", masked_crc(record))


def write_rlds(
    folder: Path,
    splits: dict[str, list[list[bytes]]],
    features: dict[str, Any] = FEATURES,
    packed: str = "",
) -> Path:
    """A dataset of records by split and shard; `packed`: gzip or zlib."""
    folder.mkdir(parents=True)
    (folder / "features.json").write_text(json.dumps(features))
    listed = []
    for split, shards in splits.items():
        listed.append({"name": split, "shardLengths": [str(len(shard)) for shard in shards]})
        for number, records in enumerate(shards):
            data = b"".join(map(framed, records))
            data = {"": lambda d: d, "gzip": gzip.compress, "zlib": zlib.compress}[packed](data)
            (folder / f"kitchen-{split}.tfrecord-{number:05d}-of-{len(shards):05d}").write_bytes(data)
    info = {"name": "kitchen", "version": "1.0.0", "description": "a toy", "splits": listed}
    (folder / "dataset_info.json").write_text(json.dumps(info))
    return folder


def kitchen(folder: Path, packed: str = "") -> Path:
    """Five episodes of 4, 6, 5, 3, 7 steps: two shards of training, one of validation."""
    records = [example(episode(number, steps)) for number, steps in enumerate((4, 6, 5, 3, 7))]
    return write_rlds(folder, {"train": [records[:2], records[2:4]], "val": [records[4:]]}, packed=packed)
