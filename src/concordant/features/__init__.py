"""From raw objects to features of pairs: boxes in two frames of a video."""

from concordant.features.appearance import (
    bhattacharyya,
    block_motion,
    box_histograms,
    local_binary_patterns,
)
from concordant.features.boxes import centre_distance, iou, move, size_ratio
from concordant.features.frames import Frame, double_nodes, frame_pairs, pair_names

__all__ = [
    "Frame",
    "bhattacharyya",
    "block_motion",
    "box_histograms",
    "centre_distance",
    "double_nodes",
    "frame_pairs",
    "iou",
    "local_binary_patterns",
    "move",
    "pair_names",
    "size_ratio",
]
