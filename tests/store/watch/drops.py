"""Many small files that arrive at random times, in every way in which files arrive."""

from __future__ import annotations

import hashlib
import random
import shutil
import time
from dataclasses import dataclass, field
from pathlib import Path

from twinloop.testing.mcap_writer import write_mcap
from twinloop.testing.robot_tracks import RobotTracks
from twinloop.testing.world.motion import Motion

_PIECES = 3


def tiny(path: Path, seed: int) -> None:
    """A recording of ten joint states, about 2 kB, of a content that only this seed has."""
    motion = Motion(seed, 2.0, 1, 0.1)
    robot = RobotTracks(motion, seed, 1_767_607_200_000_000_000, 2.0)
    write_mcap(path, [robot.joints("/arm/joint_states", 5.0, leader=False)])


@dataclass(slots=True)
class Dropper:
    """Drops files into a folder. `whole`, `broken`: SHA-256 of the contents that were dropped."""

    folder: Path
    workshop: Path
    seed: int = 0
    whole: set[str] = field(default_factory=set)
    broken: set[str] = field(default_factory=set)
    dropped: list[Path] = field(default_factory=list)

    def drop(self, count: int, pause_s: float) -> None:
        """Drop `count` files, each after a random pause of up to `pause_s`."""
        chance = random.Random(self.seed)
        for number in range(count):
            time.sleep(chance.uniform(0, pause_s))
            self._drop_one(number, chance)

    def _drop_one(self, number: int, chance: random.Random) -> None:
        made = self.workshop / f"{number}.mcap"
        way = chance.random()
        target = self.folder / chance.choice(["", "monday", "monday/robot"]) / f"take-{number}.mcap"
        target.parent.mkdir(parents=True, exist_ok=True)
        if way < 0.15 and self.dropped:
            shutil.copy(chance.choice(self.dropped), target)
            return
        tiny(made, number)
        if way < 0.3:
            data = bytearray(made.read_bytes())
            if chance.random() < 0.5:
                del data[20 : len(data) - 8]  # nothing but the magic at both ends
                data[8:8] = number.to_bytes(4, "little")
            else:
                data = bytearray(b"no recording at all, number %d" % number)
            made.write_bytes(data)
            self.broken.add(hashlib.sha256(data).hexdigest())
        else:
            self.whole.add(hashlib.sha256(made.read_bytes()).hexdigest())
        if way < 0.45:
            _write_in_pieces(made, target)
        elif way < 0.75:
            shutil.copy(made, target.with_name(f"{target.name}.part"))
            target.with_name(f"{target.name}.part").rename(target)
        else:
            shutil.move(made, target)
        self.dropped.append(target)
        if way > 0.95:
            target.rename(target.with_name(f"renamed-{number}.mcap"))
            self.dropped[-1] = target.with_name(f"renamed-{number}.mcap")


def _write_in_pieces(made: Path, target: Path) -> None:
    data = made.read_bytes()
    step = len(data) // _PIECES + 1
    with target.open("wb", buffering=0) as file:
        for start in range(0, len(data), step):
            file.write(data[start : start + step])
            time.sleep(0.01)
