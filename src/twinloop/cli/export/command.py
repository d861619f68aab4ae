"""What the commands of all formats of rows share: their options, and what they print."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from twinloop.cli.options import (
    FormatOption,
    JsonOption,
    StoreOption,
    print_json,
    progress,
    say_next,
    wants_json,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from twinloop.deliver.account import Account
    from twinloop.deliver.options import RowOptions
    from twinloop.deliver.rows import RowClock
    from twinloop.deliver.source import ExportSource


@dataclass(frozen=True, slots=True)
class Chosen:
    """What a format's command makes of its options: the function to call with `options`, and the next
    sensible command, in which ``{out}`` is where it was written."""

    export: Callable[..., Account]
    options: RowOptions
    next_step: str


ImagesOption = Annotated[
    str,
    typer.Option(
        "--images", help="own: the recording's own JPEGs where it has such; png, jpeg or raw: all so."
    ),
]
JpegScaleOption = Annotated[
    int,
    typer.Option("--jpeg-scale", min=1, max=31, help="Of JPEG encoded here: 1 (best) to 31, FFmpeg's scale."),
]
Float32Option = Annotated[bool, typer.Option("--float32", help="Numbers in 32 bits instead of 64.")]
ShardOption = Annotated[
    float, typer.Option("--shard-size", metavar="MB", help="A new file starts at this size.")
]


def _before(
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="[ID...]", help="Sessions or episodes; default: all.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Where to; must not exist.")] = None,
    clock: Annotated[
        str | None,
        typer.Option("--clock", help="What rows are: camera:NAME, or fixed. Default: the fastest camera."),
    ] = None,
    fps: Annotated[int | None, typer.Option("--fps", help="Rows a second, for --clock fixed.")] = None,
    align: Annotated[
        str, typer.Option("--align", help="Observations: latest, nearest, or interp (both may see the future).")
    ] = "latest",
    max_age: Annotated[
        float | None,
        typer.Option("--max-age", metavar="MS", help="Rows with older samples are marked invalid."),
    ] = None,
    keep_gaps: Annotated[
        bool, typer.Option("--keep-gaps", help="Fill gaps instead of splitting episodes there.")
    ] = False,
) -> None:
    """Options that come first; only their signature is used."""


def _after(
    task: Annotated[str | None, typer.Option("--task", help="Of episodes without an instruction.")] = None,
    include_excluded: Annotated[bool, typer.Option("--include-excluded")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace what is there.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the account; write nothing.")] = False,
    store: StoreOption = None,
    format: FormatOption = "text",
    json: JsonOption = False,
) -> None:
    """Options that come last; only their signature is used."""


def row_command(choose: Callable[..., Chosen]) -> Callable[..., None]:
    """Make a command of a function that takes `rows` (the values of `RowOptions`) and options of its own."""

    @wraps(choose)
    def command(**given: Any) -> None:
        own = {name: given.pop(name) for name in own_names}
        _run(choose, own, **given)

    hints = get_type_hints(choose, include_extras=True)
    own_parameters = [p.replace(annotation=hints[p.name]) for p in _parameters(choose) if p.name != "rows"]
    own_names = [parameter.name for parameter in own_parameters]
    parameters = [*_resolved(_before), *own_parameters, *_resolved(_after)]
    parameters = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in parameters]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {p.name: p.annotation for p in parameters}
    del command.__wrapped__  # type: ignore[attr-defined]
    return command


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    return list(inspect.signature(function).parameters.values())


def _resolved(function: Callable[..., Any]) -> list[inspect.Parameter]:
    hints = get_type_hints(function, include_extras=True)
    return [p.replace(annotation=hints[p.name]) for p in _parameters(function)]


def _run(
    choose: Callable[..., Chosen],
    own: dict[str, Any],
    *,
    ids: list[str] | None,
    out: Path | None,
    clock: str | None,
    fps: int | None,
    align: str,
    max_age: float | None,
    keep_gaps: bool,
    task: str | None,
    include_excluded: bool,
    force: bool,
    dry_run: bool,
    store: str | None,
    format: str,
    json: bool,
) -> None:
    from twinloop.core.errors import UsageError
    from twinloop.deliver.account_text import account_text
    from twinloop.deliver.align import Align
    from twinloop.deliver.stored import stored_sources
    from twinloop.store.store import Store

    as_json = wants_json(format, json)
    if align not in list(Align):
        raise UsageError(f"there is no alignment {align!r}", expected=f"one of: {', '.join(Align)}")
    if out is None and not dry_run:
        raise UsageError("where to?", expected="--out PATH, or --dry-run")
    sources = stored_sources(Store.find(store), ids or ())
    rows = {
        "clock": _clock(clock, fps, sources),
        "align": Align(align),
        "max_age_ms": max_age,
        "keep_gaps": keep_gaps,
        "task": task,
        "include_excluded": include_excluded,
    }
    chosen = choose(rows=rows, **own)
    target = None if dry_run else out
    with progress("writing images") as advance:
        account = chosen.export(sources, target, chosen.options, force=force, progress=advance)
    if as_json:
        print_json(account.to_json())
    elif dry_run:
        typer.echo(account_text(account))
    else:
        assert out is not None
        _summarise(account, out)
    step = "the same without --dry-run" if dry_run else chosen.next_step.format(out=out)
    say_next(step, as_json=as_json)


def _clock(text: str | None, fps: int | None, sources: Sequence[ExportSource]) -> RowClock:
    """The clock that is meant; without one, the camera with the highest rate."""
    from twinloop.core.errors import UsageError
    from twinloop.deliver.rows import CameraClock, FixedClock

    kind, _, name = (text or "").partition(":")
    if kind == "fixed":
        if fps is None:
            raise UsageError("--clock fixed needs a rate", expected="--fps N")
        return FixedClock(fps)
    if kind == "camera" and name:
        return CameraClock(name, fps)
    if text is not None:
        raise UsageError(f"there is no clock {text!r}", expected="camera:NAME, or fixed with --fps N")
    first = sources[0]
    cameras = {f.name: first.recording.streams[f.stream] for f in first.camera_features()}
    if not cameras:
        raise UsageError("there is no camera to take rows from", expected="--clock fixed --fps N")
    fastest = max(cameras, key=lambda camera: cameras[camera].measured_rate_hz or 0.0)
    return CameraClock(fastest.removeprefix("observation.images."), fps)


def _summarise(account: Account, out: Path) -> None:
    typer.echo(
        f"{out}: {len(account.episodes)} episodes, {account.rows} rows at {account.fps} a second, "
        f"{account.invalid_rows} invalid"
    )
    for name, camera in account.cameras.items():
        typer.echo(f"  {name}: {camera.summary()}")
    for why, count in Counter(left.why for left in account.left_out).items():
        typer.echo(f"  left out: {count} episode{'s' * (count > 1)}: {why}")
    for warning in account.warnings:
        typer.echo(f"  warning: {warning}")
    beside = out / "twinloop" if out.is_dir() else out.with_name(f"{out.name}.twinloop")
    typer.echo(f"what was resampled, and by how much: {beside / 'ACCOUNT.md'}")
