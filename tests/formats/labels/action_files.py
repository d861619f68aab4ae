"""A small table of actions in two videos, with a table of the videos."""

from __future__ import annotations

from pathlib import Path

HEADER = (
    "narration_id,participant_id,video_id,narration_timestamp,start_timestamp,stop_timestamp,"
    "start_frame,stop_frame,narration,verb,verb_class,noun,noun_class,all_nouns,all_noun_classes"
)
ROWS = 20


def write_actions(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    lines = [HEADER]
    for k in range(ROWS):
        video = f"P01_{k % 2:02d}"
        start, stop = k * 2.0, k * 2.0 + 1.5
        lines.append(
            f"{video}_{k},P01,{video},00:00:{start + 0.5:06.3f},00:00:{start:05.2f},00:00:{stop:05.2f},"
            f"{int(start * 50) + 1},{int(stop * 50) + 1},take cup,take,0,cup,13,"
            f"\"['cup', 'plate']\",\"[13, 2]\""
        )
    (folder / "actions.csv").write_text("\n".join(lines) + "\n")
    (folder / "videos.csv").write_text(
        "video_id,duration,fps,resolution\nP01_00,60.5,50,1920x1080\nP01_01,61.5,50.0,1920x1080\n"
    )
    return folder
