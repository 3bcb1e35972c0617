"""From raw objects to features: of tokens, by names and templates, and of pairs of boxes."""

from concordant.features.appearance import (
    bhattacharyya,
    block_motion,
    box_histograms,
    local_binary_patterns,
)
from concordant.features.boxes import centre_distance, iou, move, size_ratio
from concordant.features.frames import Frame, double_nodes, frame_pairs, pair_names
from concordant.features.strings import encode_tokens
from concordant.features.templates import CrfppTemplate

__all__ = [
    "CrfppTemplate",
    "Frame",
    "bhattacharyya",
    "block_motion",
    "box_histograms",
    "centre_distance",
    "double_nodes",
    "encode_tokens",
    "frame_pairs",
    "iou",
    "local_binary_patterns",
    "move",
    "pair_names",
    "size_ratio",
]
