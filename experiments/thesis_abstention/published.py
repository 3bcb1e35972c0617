"""Table VI of Fathony's thesis (2019, section 2.8.3), as printed."""

from __future__ import annotations

from experiments.tuned.summary import Published, numbers

METHODS = {
    "adversarial": "AL",
    "rejecting_one_vs_rest": "OVA",
    "rejecting_crammer_singer": "CS",
}

LINEAR = Published(
    "linear",
    METHODS,
    numbers("""
iris         .037 .02 .122 .04 .038 .02
glass        .380 .04 .393 .04 .379 .04
redwine      .418 .01 .742 .04 .423 .01
ecoli        .165 .02 .222 .10 .213 .10
vehicle      .214 .02 .231 .02 .216 .02
segment      .061 .01 .082 .01 .052 .01
sat          .147 .01 .356 .01 .337 .01
optdigits    .037 .01 .045 .01 .038 .01
pageblocks   .040 .01 .042 .01 .045 .02
libras       .260 .03 .253 .02 .253 .02
vertebral    .154 .02 .147 .02 .159 .02
breasttissue .315 .04 .316 .05 .326 .06
"""),
    (0.186, 0.246, 0.207),
    (10, 4, 8),
)
GAUSSIAN = Published(
    "gaussian",
    METHODS,
    numbers("""
iris         .051 .03 .120 .04 .043 .03
glass        .302 .03 .393 .04 .317 .03
redwine      .373 .01 .742 .04 .391 .01
ecoli        .160 .03 .221 .10 .144 .02
vehicle      .206 .03 .226 .03 .300 .02
segment      .042 .01 .084 .01 .102 .01
sat          .094 .01 .356 .01 .181 .01
optdigits    .062 .01 .051 .01 .072 .01
pageblocks   .037 .01 .042 .01 .060 .01
libras       .263 .02 .362 .04 .207 .03
vertebral    .181 .02 .147 .03 .220 .04
breasttissue .330 .04 .313 .06 .367 .03
"""),
    (0.175, 0.255, 0.200),
    (8, 3, 4),
)


def _rates(text: str) -> dict[str, list[int]]:
    lines = [line.split() for line in text.strip().split("\n")]
    return {name: [int(value) for value in values] for name, *values in lines}


#: Percentages of abstentions.
LINEAR_RATES = _rates("""
iris          7 13  6
glass        40 27 38
redwine      58 50 54
ecoli        17 11 15
vehicle      23 17 20
segment       7 11  6
sat          14 20 14
optdigits     4  5  5
pageblocks    3  1  4
libras       36 36 36
vertebral    16  7 14
breasttissue 51 37 32
""")
GAUSSIAN_RATES = _rates("""
iris          6 14  1
glass        37 35 25
redwine      42 50 58
ecoli        17 11  5
vehicle      20 15 31
segment       5 11 13
sat           9 20  4
optdigits    12  5  8
pageblocks    4  1  4
libras       50  4 14
vertebral    22  7  4
breasttissue 54 32 67
""")
TABLES = {"linear": (LINEAR, LINEAR_RATES), "gaussian": (GAUSSIAN, GAUSSIAN_RATES)}
