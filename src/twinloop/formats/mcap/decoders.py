"""Which decoder a channel's messages take: by message encoding and schema encoding (https://mcap.dev/spec/registry)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, cast

from twinloop.core.errors import TwinloopError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from twinloop.formats.mcap.records import Channel, Schema
    from twinloop.formats.messages import MessageDecoder

    DefinitionFormat = Literal["ros1msg", "ros2msg", "ros2idl"]


class NoDecoder(Exception):
    """Why a channel's messages are kept raw."""


def decoder_for(channel: Channel, schema: Schema | None, types_dir: Path | None) -> MessageDecoder:
    """The decoder of a channel.

    Args:
        schema: what the file defines its messages as, if anything.
        types_dir: folder of ROS 2 definitions, for a file that carries none.

    Raises:
        NoDecoder: the encoding is not known here, or the schema is missing or does not parse.
    """
    try:
        match channel.message_encoding:
            case "ros1" | "cdr":
                return _ros(channel, schema, types_dir)
            case "protobuf":
                return _protobuf(schema)
            case "json":
                return _json(schema)
            case encoding:
                raise NoDecoder(f"its encoding {encoding!r} is not known here")
    except TwinloopError as error:
        name = schema.name if schema else "its type"
        raise NoDecoder(f"the schema of {name} cannot be used ({error.what})") from error


def _ros(channel: Channel, schema: Schema | None, types_dir: Path | None) -> MessageDecoder:
    from twinloop.formats.ros.decoder import ros_decoder

    if schema is None:
        raise NoDecoder("it has no schema")
    encoding = cast("Literal['cdr', 'ros1']", channel.message_encoding)
    trouble: TwinloopError | None = None
    for text, definition_format in _definitions(channel, schema, types_dir):
        try:
            return ros_decoder(schema.name, text, encoding=encoding, definition_format=definition_format)
        except TwinloopError as error:
            trouble = trouble or error
    if trouble is not None:
        raise trouble
    fix = "" if encoding == "ros1" else " (--types DIR names a folder of definitions)"
    raise NoDecoder(f"the file carries no definition of {schema.name}, and it is no standard type{fix}")


def _definitions(
    channel: Channel, schema: Schema, types_dir: Path | None
) -> Iterator[tuple[str, DefinitionFormat]]:
    """Definitions to try, best first: the file's own, the user's, the standard one."""
    ros1 = channel.message_encoding == "ros1"
    if schema.data:
        text = schema.data.decode("utf-8", "replace")
        idl = schema.encoding in ("ros2idl", "omgidl")
        yield text, "ros1msg" if ros1 else "ros2idl" if idl else "ros2msg"
    if types_dir is not None and not ros1:
        from twinloop.formats.rosbag2.types_dir import TypesDir

        if own := TypesDir(types_dir).definition(schema.name):
            yield own, "ros2msg"
    if not schema.data:
        from twinloop.formats.ros.standard import standard_definition

        if standard := standard_definition(schema.name, ros2=not ros1):
            yield standard, "ros1msg" if ros1 else "ros2msg"


def _protobuf(schema: Schema | None) -> MessageDecoder:
    from twinloop.formats.protobuf import protobuf_decoder

    if schema is None or not schema.data:
        raise NoDecoder("it has no schema, without which protobuf does not say what it holds")
    return protobuf_decoder(schema.name, schema.data)


def _json(schema: Schema | None) -> MessageDecoder:
    from twinloop.formats.json_messages import json_decoder

    text = schema.data.decode("utf-8", "replace") if schema and schema.encoding == "jsonschema" else ""
    return json_decoder(schema.name if schema else "", text)
