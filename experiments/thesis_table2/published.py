"""Tables I and II of Fathony's thesis (2019, section 2.8.1), as printed."""

from __future__ import annotations

#: Table I: classes of the data (the thesis prints 10 for redwine and 7 for sat), sizes, features.
DATASETS: dict[str, dict[str, int]] = {
    "iris": {"k": 3, "train": 105, "test": 45, "d": 4},
    "glass": {"k": 6, "train": 149, "test": 65, "d": 9},
    "redwine": {"k": 6, "train": 1119, "test": 480, "d": 11},
    "ecoli": {"k": 8, "train": 235, "test": 101, "d": 7},
    "vehicle": {"k": 4, "train": 592, "test": 254, "d": 18},
    "segment": {"k": 7, "train": 1617, "test": 693, "d": 19},
    "sat": {"k": 6, "train": 4435, "test": 2000, "d": 36},
    "optdigits": {"k": 10, "train": 3823, "test": 1797, "d": 64},
    "pageblocks": {"k": 5, "train": 3831, "test": 1642, "d": 10},
    "libras": {"k": 15, "train": 252, "test": 108, "d": 90},
    "vertebral": {"k": 3, "train": 217, "test": 93, "d": 6},
    "breasttissue": {"k": 6, "train": 74, "test": 32, "d": 9},
}

#: Table II, mean and standard deviation: AL0-1, WW, CS, LLW.
_LINEAR = """
iris         96.3 3.1  96.0 2.6  96.3 2.4  79.7 5.5
glass        62.5 6.0  62.2 3.6  62.5 3.9  52.8 4.6
redwine      58.8 2.0  59.1 1.9  56.6 2.0  57.7 1.7
ecoli        86.2 2.2  85.7 2.5  85.8 2.3  74.1 3.3
vehicle      78.8 2.2  78.8 1.7  78.4 2.3  69.8 3.7
segment      94.9 0.7  94.9 0.8  95.2 0.8  75.8 1.5
sat          84.9 0.7  85.4 0.7  84.7 0.7  74.9 0.9
optdigits    96.6 0.6  96.5 0.7  96.3 0.6  76.2 2.2
pageblocks   96.0 0.5  96.1 0.5  96.3 0.5  92.5 0.8
libras       74.1 3.3  72.0 3.8  71.3 4.3  34.0 6.4
vertebral    85.5 2.9  85.9 2.7  85.4 3.3  79.8 5.6
breasttissue 64.4 7.1  59.7 7.8  66.3 6.9  58.3 8.1
"""
_GAUSSIAN = """
iris         96.7 2.4  96.4 2.4  96.2 2.3  95.4 2.1
glass        69.5 4.2  66.8 4.3  69.4 4.8  69.2 4.4
redwine      63.3 1.8  64.2 2.0  64.2 1.9  64.7 2.1
ecoli        86.0 2.7  84.9 2.4  85.6 2.4  86.0 2.5
vehicle      84.3 2.5  84.4 2.6  83.8 2.3  84.4 2.6
segment      96.5 0.6  96.6 0.5  96.3 0.6  96.4 0.5
sat          91.9 0.5  92.0 0.6  91.9 0.5  91.9 0.4
optdigits    98.7 0.4  98.8 0.4  98.8 0.3  98.9 0.3
pageblocks   96.8 0.5  96.6 0.4  96.7 0.4  96.6 0.4
libras       83.6 3.8  83.8 3.4  85.0 3.9  83.2 4.2
vertebral    86.0 3.1  85.3 2.9  85.5 3.3  84.4 2.7
breasttissue 68.4 8.6  68.1 6.5  66.6 8.9  68.0 7.2
"""


def _cells(text: str) -> dict[str, list[tuple[float, float]]]:
    out = {}
    for line in text.split("\n"):
        if line:
            name, *values = line.split()
            numbers = [float(value) for value in values]
            out[name] = list(zip(numbers[::2], numbers[1::2], strict=True))
    return out


PUBLISHED = {"linear": _cells(_LINEAR), "gaussian": _cells(_GAUSSIAN)}

#: The last two rows: averages, and data sets where the method is best or not worse.
AVERAGES = {"linear": (81.59, 81.02, 81.25, 68.80), "gaussian": (85.14, 84.82, 85.00, 84.93)}
BOLD = {"linear": (9, 7, 8, 0), "gaussian": (9, 7, 7, 8)}
