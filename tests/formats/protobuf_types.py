"""Protobuf types for tests, put together without a compiler: Foxglove's, and one with every sort of field."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from google.protobuf import descriptor_pool, duration_pb2, message_factory, timestamp_pb2
from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
    FileDescriptorSet,
)

_SCALARS = {
    name: getattr(FieldDescriptorProto, f"TYPE_{name.upper()}")
    for name in (
        *("double", "float", "int32", "int64", "uint32", "uint64", "sint32", "sint64"),
        *("fixed32", "fixed64", "sfixed32", "sfixed64", "bool", "string", "bytes"),
    )
}


def message(proto: DescriptorProto, fields: Mapping[str, str]) -> DescriptorProto:
    """Add `fields`, name -> ``[repeated |optional |enum ]type``; a type with a dot is a message or enum."""
    for number, (name, words) in enumerate(fields.items(), len(proto.field) + 1):
        *label, type_name = words.split()
        one = proto.field.add(name=name, number=number, label=FieldDescriptorProto.LABEL_OPTIONAL)
        if "repeated" in label:
            one.label = FieldDescriptorProto.LABEL_REPEATED
        if "optional" in label:
            one.proto3_optional = True
            one.oneof_index = len(proto.oneof_decl)
            proto.oneof_decl.add(name=f"_{name}")
        if "enum" in label:
            one.type, one.type_name = FieldDescriptorProto.TYPE_ENUM, f".{type_name}"
        elif type_name in _SCALARS:
            one.type = _SCALARS[type_name]
        else:
            one.type, one.type_name = FieldDescriptorProto.TYPE_MESSAGE, f".{type_name}"
    return proto


def file_of(name: str, package: str, messages: Mapping[str, Mapping[str, str]]) -> FileDescriptorProto:
    """A proto3 file with these messages, which may use Timestamp and Duration."""
    file = FileDescriptorProto(name=name, package=package, syntax="proto3")
    file.dependency.extend(["google/protobuf/timestamp.proto", "google/protobuf/duration.proto"])
    for type_name, fields in messages.items():
        message(file.message_type.add(name=type_name), fields)
    return file


class Types:
    """The types of one file: `data` is its serialized FileDescriptorSet, `new(name)` makes a message."""

    def __init__(self, file: FileDescriptorProto) -> None:
        files = []
        for wellknown in (timestamp_pb2, duration_pb2):
            copy = FileDescriptorProto()
            wellknown.DESCRIPTOR.CopyToProto(copy)
            files.append(copy)
        files.append(file)
        self.data = FileDescriptorSet(file=files).SerializeToString()
        self._pool = descriptor_pool.DescriptorPool()
        for one in files:
            self._pool.Add(one)

    def new(self, name: str, /, **values: Any) -> Any:
        """A message of the type."""
        return message_factory.GetMessageClass(self._pool.FindMessageTypeByName(name))(**values)


_STAMPED = {"timestamp": "google.protobuf.Timestamp", "frame_id": "string"}
_TRANSFORM = {
    "timestamp": "google.protobuf.Timestamp",
    "parent_frame_id": "string",
    "child_frame_id": "string",
    "translation": "foxglove.Vector3",
    "rotation": "foxglove.Quaternion",
}


def foxglove() -> Types:
    """Some of Foxglove's schemas, as foxglove-sdk has them."""
    file = file_of(
        "foxglove.proto",
        "foxglove",
        {
            "Vector3": dict.fromkeys("xyz", "double"),
            "Quaternion": dict.fromkeys("xyzw", "double"),
            "Pose": {"position": "foxglove.Vector3", "orientation": "foxglove.Quaternion"},
            "PackedElementField": {
                "name": "string",
                "offset": "fixed32",
                "type": "enum foxglove.PackedElementField.NumericType",
            },
            "JointState": {"name": "string"}
            | dict.fromkeys(("position", "velocity", "effort"), "optional double"),
            "CompressedImage": {"timestamp": "google.protobuf.Timestamp", "data": "bytes", "format": "string"}
            | {"frame_id": "string"},
            "CompressedVideo": {**_STAMPED, "data": "bytes", "format": "string"},
            "RawImage": {**_STAMPED, "width": "fixed32", "height": "fixed32", "encoding": "string"}
            | {"step": "fixed32", "data": "bytes"},
            "PointCloud": {**_STAMPED, "pose": "foxglove.Pose", "point_stride": "fixed32"}
            | {"fields": "repeated foxglove.PackedElementField", "data": "bytes"},
            "RawAudio": {"timestamp": "google.protobuf.Timestamp", "data": "bytes", "format": "string"}
            | {"sample_rate": "fixed32", "number_of_channels": "fixed32"},
            "LaserScan": {**_STAMPED, "pose": "foxglove.Pose", "start_angle": "double", "end_angle": "double"}
            | {"ranges": "repeated double", "intensities": "repeated double"},
            "PoseInFrame": {**_STAMPED, "pose": "foxglove.Pose"},
            "PosesInFrame": {**_STAMPED, "poses": "repeated foxglove.Pose"},
            "FrameTransform": _TRANSFORM,
            "FrameTransforms": {"transforms": "repeated foxglove.FrameTransform"},
            "CameraCalibration": {"timestamp": "google.protobuf.Timestamp", "width": "fixed32"}
            | {"height": "fixed32", "distortion_model": "string"}
            | dict.fromkeys("DKRP", "repeated double")
            | {"frame_id": "string"},
            "LocationFix": {"latitude": "double", "longitude": "double", "altitude": "double"}
            | {"position_covariance": "repeated double", **_STAMPED},
            "JointStates": {
                "timestamp": "google.protobuf.Timestamp",
                "joints": "repeated foxglove.JointState",
            },
            "Log": {"timestamp": "google.protobuf.Timestamp", "message": "string", "name": "string"},
            "KeyValuePair": {"key": "string", "value": "string"},
        },
    )
    numeric = next(m for m in file.message_type if m.name == "PackedElementField").enum_type.add(
        name="NumericType"
    )
    names = ("UNKNOWN", "UINT8", "INT8", "UINT16", "INT16", "UINT32", "INT32", "FLOAT32", "FLOAT64")
    for number, name in enumerate(names):
        numeric.value.add(name=name, number=number)
    return Types(file)


def sampler() -> Types:
    """``test.Sampler`` has one field of every sort, singular and repeated, and nests two deep."""
    scalars = [name for name in _SCALARS if name != "bytes"]
    file = file_of(
        "sampler.proto",
        "test",
        {
            "Inner": {"id": "uint32", "label": "string", "values": "repeated sint64"},
            "Middle": {"inner": "test.Inner", "inners": "repeated test.Inner", "gain": "float"},
            "Tree": {"name": "string", "children": "repeated test.Tree"},
            "Sampler": {f"one_{name}": name for name in _SCALARS}
            | {f"maybe_{name}": f"optional {name}" for name in scalars}
            | {f"many_{name}": f"repeated {name}" for name in scalars}
            | {"mode": "enum test.Mode", "modes": "repeated enum test.Mode"}
            | {"at": "google.protobuf.Timestamp", "lasted": "google.protobuf.Duration"}
            | {"stamps": "repeated google.protobuf.Timestamp"}
            | {"middle": "test.Middle", "middles": "repeated test.Middle", "tree": "test.Tree"},
        },
    )
    mode = file.enum_type.add(name="Mode")
    for number, name in enumerate(("IDLE", "MOVE", "STOP")):
        mode.value.add(name=name, number=number)
    return Types(file)
