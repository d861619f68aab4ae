"""`twinloop export`: episodes of the store as datasets that trainers load."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from twinloop.cli.options import FormatOption, JsonOption, StoreOption, print_json, say_next, wants_json

if TYPE_CHECKING:
    from twinloop.deliver.account import Account
    from twinloop.deliver.rows import RowClock


def register(app: typer.Typer) -> None:
    """Add the verb."""
    group = typer.Typer(help="Write datasets that trainers load.", no_args_is_help=True)
    group.command("lerobot")(lerobot)
    app.add_typer(group, name="export")


def lerobot(
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="[ID...]", help="Sessions or episodes; default: all.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Folder of the dataset; must not exist.")] = None,
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
        bool, typer.Option("--keep-gaps", help="Fill gaps (re-encodes) instead of splitting episodes there.")
    ] = False,
    keep_mjpeg: Annotated[bool, typer.Option("--keep-mjpeg", help="Remux JPEG as it is.")] = False,
    codec: Annotated[
        str | None, typer.Option("--codec", help="Of what is re-encoded: h264, hevc or av1.")
    ] = None,
    gop: Annotated[
        int, typer.Option("--gop", min=1, max=10_000, help="Of what is re-encoded: images to a keyframe.")
    ] = 2,
    crf: Annotated[
        int | None,
        typer.Option("--crf", min=0, max=63, help="Of what is re-encoded: quality; lower is better."),
    ] = None,
    no_lead: Annotated[
        bool,
        typer.Option(
            "--no-lead", help="Keep no images before a cut off a keyframe: re-encode up to the next keyframe."
        ),
    ] = False,
    reencode: Annotated[bool, typer.Option("--reencode", help="Never remux.")] = False,
    causal: Annotated[
        bool, typer.Option("--causal", help="No image after its row, not by half a period either.")
    ] = False,
    task: Annotated[str | None, typer.Option("--task", help="Of episodes without an instruction.")] = None,
    include_excluded: Annotated[bool, typer.Option("--include-excluded")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace a dataset that is there.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the account; write nothing.")] = False,
    store: StoreOption = None,
    format: FormatOption = "text",
    json: JsonOption = False,
) -> None:
    """Write a LeRobot v3.0 dataset, the true times and an account of what was resampled beside it."""
    from twinloop.core.errors import UsageError
    from twinloop.deliver.align import Align
    from twinloop.deliver.account_text import account_text
    from twinloop.deliver.lerobot.export import export_lerobot
    from twinloop.deliver.lerobot.options import ExportOptions
    from twinloop.deliver.stored import stored_sources
    from twinloop.store.store import Store

    as_json = wants_json(format, json)
    if align not in list(Align):
        raise UsageError(f"there is no alignment {align!r}", expected=f"one of: {', '.join(Align)}")
    if out is None and not dry_run:
        raise UsageError("where to?", expected="--out DIR, or --dry-run")
    sources = stored_sources(Store.find(store), ids or ())
    options = ExportOptions(
        clock=_clock(clock, fps, sources),
        align=Align(align),
        max_age_ms=max_age,
        keep_gaps=keep_gaps,
        keep_mjpeg=keep_mjpeg,
        causal=causal,
        keep_lead=not no_lead,
        reencode=reencode,
        codec=codec,
        gop=gop,
        crf=crf,
        task=task,
        include_excluded=include_excluded,
    )
    with _Bar() as progress:
        account = export_lerobot(sources, None if dry_run else out, options, force=force, progress=progress)
    if as_json:
        print_json(account.to_json())
    elif dry_run:
        typer.echo(account_text(account))
    else:
        assert out is not None
        _summarise(account, out)
    say_next(
        "the same without --dry-run" if dry_run else f'LeRobotDataset("local", root="{out}") opens it',
        as_json=as_json,
    )


def _clock(text: str | None, fps: int | None, sources: object) -> RowClock:
    """The clock that is meant; without one, the camera with the highest rate."""
    from collections.abc import Sequence

    from twinloop.core.errors import UsageError
    from twinloop.deliver.source import ExportSource
    from twinloop.deliver.rows import CameraClock, FixedClock

    assert isinstance(sources, Sequence)
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
    assert isinstance(first, ExportSource)
    cameras = {f.name: first.recording.streams[f.stream] for f in first.camera_features()}
    if not cameras:
        raise UsageError("there is no camera to take rows from", expected="--clock fixed --fps N")
    fastest = max(cameras, key=lambda camera: cameras[camera].measured_rate_hz or 0.0)
    return CameraClock(fastest.removeprefix("observation.images."), fps)


class _Bar:
    """A bar on standard error, on a terminal only."""

    def __enter__(self) -> _Bar:
        from rich.console import Console
        from rich.progress import Progress

        console = Console(stderr=True)
        self.bar = Progress(console=console, transient=True, disable=not console.is_terminal)
        self.bar.start()
        self.task = self.bar.add_task("writing images", total=None)
        return self

    def __call__(self, done: int, total: int) -> None:
        self.bar.update(self.task, completed=done, total=total)

    def __exit__(self, *_: object) -> None:
        self.bar.stop()


def _summarise(account: Account, out: Path) -> None:
    typer.echo(
        f"{out}: {len(account.episodes)} episodes, {account.rows} rows at {account.fps} a second, "
        f"{account.invalid_rows} invalid"
    )
    for name, camera in account.cameras.items():
        typer.echo(f"  {name}: {camera.summary()}")
    for left in account.left_out:
        typer.echo(f"  left out: episode {left.episode} of session {left.session}: {left.why}")
    for warning in account.warnings:
        typer.echo(f"  warning: {warning}")
    typer.echo("what was resampled, and by how much: twinloop/ACCOUNT.md in that folder")
