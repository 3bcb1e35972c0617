"""The 2D MOT 2015 sequences as matchings of the boxes in consecutive frames."""

from __future__ import annotations

import gzip
import io
import zipfile
from collections import defaultdict
from functools import cache
from typing import NamedTuple

import numpy as np

from concordant.features import Frame, double_nodes, frame_pairs, pair_names
from experiments.common import ROOT, DataMissing, data_folder

#: Thesis, Table XI: nodes after doubling, and pairs of frames.
PUBLISHED = {
    "TUD-Campus": (12, 70),
    "TUD-Stadtmitte": (16, 178),
    "ETH-Sunnyday": (18, 353),
    "ETH-Bahnhof": (34, 999),
    "ETH-Pedcross2": (30, 836),
}
CACHE = ROOT / "experiments" / ".cache"


class Sequence(NamedTuple):
    """Features (n, m, d) of every pair of consecutive frames, and the column of each row."""

    pairs: list[np.ndarray]
    answers: list[np.ndarray]

    @property
    def most(self) -> int:
        """The most boxes in a frame."""
        return max(max(x.shape[:2]) for x in self.pairs)


def tracks(name: str) -> dict[int, dict[int, list[float]]]:
    """Boxes of each frame by the number of their track; every line of the ground truth counts."""
    path = data_folder() / "structured" / "mot15" / name / "gt.txt.gz"
    if not path.is_file():
        raise DataMissing(f"the sequence {name} is not here: there is no {path}")
    frames: dict[int, dict[int, list[float]]] = defaultdict(dict)
    with gzip.open(path, "rt") as lines:
        for line in lines:
            frame, track, left, top, width, height = (float(v) for v in line.split(",")[:6])
            frames[int(frame)][int(track)] = [left, top, left + width, top + height]
    return frames


def answer(before: dict[int, list[float]], after: dict[int, list[float]]) -> np.ndarray:
    """The place in the second frame of each track of the first, -1 for those that leave."""
    there = {track: j for j, track in enumerate(after)}
    return np.array([there.get(track, -1) for track in before], dtype=np.int64)


@cache
def load(name: str, most_frames: int | None = None) -> Sequence:
    """The features of the thesis, section 4.4.1 (size ratios, which it has not, left out)."""
    file = CACHE / f"{name}.npz"
    if most_frames is None and file.is_file():
        stored = np.load(file)
        count = len(stored.files) // 2
        return Sequence(
            [stored[f"x{i}"].astype(float) for i in range(count)],
            [stored[f"y{i}"] for i in range(count)],
        )
    sequence = _work_out(name, most_frames)
    if most_frames is None:
        CACHE.mkdir(exist_ok=True)
        arrays = {f"x{i}": x.astype(np.float32) for i, x in enumerate(sequence.pairs)}
        arrays |= {f"y{i}": y for i, y in enumerate(sequence.answers)}
        np.savez_compressed(file, **arrays)
        return load.__wrapped__(name)  # as stored, whether or not it was before
    return sequence


def _work_out(name: str, most_frames: int | None) -> Sequence:
    from PIL import Image

    boxes = tracks(name)
    kept = np.array([each != "size ratio" for each in pair_names()])
    pairs, answers, last = [], [], None
    path = data_folder() / "structured" / "mot15" / name / "frames_webp.zip"
    with zipfile.ZipFile(path) as images:
        for number in sorted(boxes)[:most_frames]:
            with Image.open(io.BytesIO(images.read(f"{number:06d}.webp"))) as image:
                frame = Frame(list(boxes[number].values()), np.asarray(image.convert("RGB")))
            if last is not None and last[0] == number - 1:
                pairs.append(frame_pairs(last[1], frame)[:, :, kept])
                answers.append(answer(boxes[last[0]], boxes[number]))
            last = number, frame
    return Sequence(pairs, answers)


def doubled(sequence: Sequence, half: int | None = None) -> Sequence:
    """The published square form, with the most boxes of the sequence as half the nodes."""
    half = half or sequence.most
    both = [double_nodes(x, y, half) for x, y in zip(sequence.pairs, sequence.answers)]
    return Sequence([x for x, _ in both], [y for _, y in both])
