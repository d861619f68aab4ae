"""Small files of tracked boxes, of each form."""

from __future__ import annotations

from pathlib import Path

FRAMES = 10


def write_mot(path: Path) -> Path:
    lines = [
        f"{k},{track},{100 + k},50.5,40,80,{0.5 + track / 10},-1,-1,-1"
        for k in range(1, FRAMES + 1)
        for track in (1, 2)
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


def write_truth(path: Path) -> Path:
    lines = [f"{k},{track},{100 + k},50,40,80,1,{track},0.75" for track in (1, 2) for k in range(1, FRAMES + 1)]
    path.write_text("\n".join(lines) + "\n")
    return path


def write_detrac(path: Path) -> Path:
    frames = "".join(
        f'<frame density="1" num="{k}"><target_list><target id="1">'
        f'<box left="{100 + k}" top="50.5" width="40" height="80"/>'
        '<attribute orientation="20" vehicle_type="car"/></target></target_list></frame>'
        for k in range(1, FRAMES + 1)
    )
    sequence = f'<sequence name="MVI_1"><sequence_attribute camera_state="stable"/>{frames}</sequence>'
    path.write_text(f'<?xml version="1.0" encoding="utf-8"?>\n{sequence}')
    return path


def write_vatic(path: Path) -> Path:
    lines = [f'0 {100 + k} 50 {140 + k} 130 {k} 0 1 0 "worker" "bent down"' for k in range(FRAMES)]
    path.write_text("\n".join(lines) + "\n")
    return path
