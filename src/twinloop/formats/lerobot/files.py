"""Where a dataset's files are: by the templates of info.json, or by walking where those lead nowhere."""

from __future__ import annotations

import os
import re
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from twinloop.core.errors import Where
from twinloop.core.recording import Problem

if TYPE_CHECKING:
    from twinloop.formats.notes import Notes

VIDEO_SUFFIXES = frozenset({".mp4", ".mkv", ".webm", ".mov", ".avi"})

#: What numbers a file: its episode (v2), or its chunk and number in it (v3).
Number = tuple[int, ...]

_EPISODE = re.compile(r"episode[_-](\d+)")
_FILE = re.compile(r"chunk[_-](\d+)/file[_-](\d+)")


class DatasetFiles:
    """The files below a dataset's root, found by template first and by their names second."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._strayed: dict[str, list[tuple[str, Path]]] = {}

    @cached_property
    def all(self) -> tuple[Path, ...]:
        """Every file below the root, sorted, hidden ones left out."""
        found: list[Path] = []
        for folder, folders, names in os.walk(self.root):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            found += [Path(folder, name) for name in sorted(names) if not name.startswith(".")]
        return tuple(found)

    @cached_property
    def _known(self) -> frozenset[Path]:
        return frozenset(self.all)

    @cached_property
    def tables(self) -> dict[Number, Path]:
        """Parquet files outside meta/ and videos/, by the numbers in their names."""
        meta = self.root / "meta"
        return self._numbered(p for p in self.all if p.suffix == ".parquet" and meta not in p.parents)

    def videos(self, key: str) -> dict[Number, Path]:
        """Video files of one camera, by the numbers in their names; its key is one of their folders."""
        short = key.rsplit(".", 1)[-1]
        videos = [p for p in self.all if p.suffix.lower() in VIDEO_SUFFIXES]
        for name in (key, short):
            mine = [p for p in videos if name in p.relative_to(self.root).parts[:-1]]
            if mine:
                return self._numbered(mine)
        return self._numbered(p for p in videos if key in p.stem)

    def table(self, template: str, number: Number, numbers: dict[str, int]) -> Path | None:
        """The parquet file of this number."""
        return self._by_template(template, numbers) or self._stray(
            "data_path", template, self.tables.get(number)
        )

    def video(self, template: str, key: str, number: Number, numbers: dict[str, int]) -> Path | None:
        """The video file of this camera and number."""
        path = self._by_template(template, {**numbers, "video_key": key})
        if path is not None:
            return path
        return self._stray("video_path", template, self._videos_of(key).get(number))

    def note_strays(self, notes: Notes) -> None:
        """Note the templates that did not lead to files that are there."""
        for what, strays in self._strayed.items():
            template, first = strays[0]
            notes.add(
                Problem.PATH,
                f"{what} {template!r} does not lead to {len(strays)} of the files; they were found by their "
                f"names, the first at {first.relative_to(self.root)}",
                Where(file=str(self.root / "meta" / "info.json")),
            )

    def _by_template(self, template: str, numbers: dict[str, Any]) -> Path | None:
        """The file that the template names, if it is there and inside the root."""
        try:
            path = self.root / template.format(**numbers)
        except (KeyError, IndexError, ValueError, AttributeError):
            return None
        return path if path in self._known else None

    def _stray(self, what: str, template: str, path: Path | None) -> Path | None:
        if path is not None:
            self._strayed.setdefault(what, []).append((template, path))
        return path

    def _videos_of(self, key: str) -> dict[Number, Path]:
        if key not in self._video_cache:
            self._video_cache[key] = self.videos(key)
        return self._video_cache[key]

    @cached_property
    def _video_cache(self) -> dict[str, dict[Number, Path]]:
        return {}

    def _numbered(self, paths: Any) -> dict[Number, Path]:
        numbered: dict[Number, Path] = {}
        for path in paths:
            name = path.relative_to(self.root).as_posix()
            match = _FILE.search(name) or _EPISODE.search(path.name)
            if match:
                numbered.setdefault(tuple(int(group) for group in match.groups()), path)
        return numbered
