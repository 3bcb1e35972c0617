"""The report in a real browser: no errors, no requests, nothing wider than the window."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import concordant as cc
from concordant.report import compare, compare_sequences, write

WIDTHS = (375, 1440)
SCHEMES = ("light", "dark")
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api")
    path = next(
        filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), ""
    )
    if not path:
        pytest.skip("no Chromium on this machine (Debian: apt-get install chromium)")
    with playwright.sync_playwright() as p:
        started = p.chromium.launch(executable_path=path, args=FLAGS)
        yield started
        started.close()


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """A usual report; one of long names, many labels, missing values, markup; one of sequences."""
    folder = tmp_path_factory.mktemp("reports")
    rng = np.random.default_rng(0)
    X, y = cc.datasets.make_ordered(150, 4, 3, random_state=0)
    quick = {"C": [0.1], "cv": 3, "repeats": 1, "n_jobs": 1, "routes": ["log", "hinge"]}
    usual = compare(X, y, cc.losses.Abstain(cost=0.3), **quick)
    names = [f"{'Unabkürzbarer' * 4}Name{i} & <b>$x$</b>" for i in range(15)]
    X = pd.DataFrame(rng.normal(size=(200, 3)), columns=[names[0], "b" * 200, "<script>"])
    X.iloc[::7, 1] = np.nan
    labels = np.array(names)[rng.integers(0, 15, 200)]
    prices = cc.losses.CostMatrix(np.abs(np.subtract.outer(np.arange(15.0), np.arange(15))) * 1e5)
    routes = ["log", "one_vs_rest"]
    hard = compare(X, labels, prices, **quick | {"routes": routes}, missing="impute")
    hard = replace(hard, question="Why? " * 40, source="x" * 300, loss_name="y" * 200)
    chains, tags = cc.datasets.make_chains(15, 3, random_state=0)
    words = [["Donaudampfschiff" * (1 + t) for t in range(len(y))] for y in tags]
    sequences = compare_sequences(chains, tags, routes=["log"], C=[1.0], n_jobs=1, words=words)
    command = f"concordant compare {'z' * 300}.csv"
    return {
        "usual": write(usual, folder / "usual.html", command),
        "hard": write(hard, folder / "hard.html", command),
        "sequences": write(sequences, folder / "sequences.html", command),
    }


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("name", ["usual", "hard", "sequences"])
def test_report_in_a_browser(browser, reports, name, scheme, width):
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    problems, requests = [], []
    page.on("console", lambda message: problems.append(message.text))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(reports[name].as_uri())
    assert problems == []
    assert requests == [reports[name].as_uri()]
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    wide = page.evaluate(OVERFLOWING, width)
    assert wide == [], wide
    assert page.evaluate(SHOWN) >= 5
    paper, ink = page.evaluate(COLOURS)
    assert (sum(paper) > sum(ink)) is (scheme == "light")
    assert contrast(paper, ink) > 7
    if folder := os.environ.get("CONCORDANT_SCREENSHOTS"):
        page.screenshot(path=Path(folder) / f"{name}-{width}-{scheme}.png", full_page=True)
    page.close()


#: Visible elements that stick out of the window and of no box that scrolls.
OVERFLOWING = """width => [...document.querySelectorAll('body *')].filter(e => {
  const box = e.getBoundingClientRect();
  return box.width > 0 && box.right > width + 1 && !e.closest('.scroll') && !e.closest('svg');
}).map(e => e.tagName + '.' + e.className + ' ' + e.textContent.slice(0, 40))"""
SHOWN = (
    "[...document.querySelectorAll('svg')].filter(s => s.getBoundingClientRect().width > 0).length"
)
COLOURS = """() => ['backgroundColor', 'color'].map(
  name => getComputedStyle(document.body)[name].match(/[0-9]+/g).slice(0, 3).map(Number))"""


def contrast(a, b):
    """Of two colours, as the Web Content Accessibility Guidelines define it."""

    def luminance(colour):
        parts = [v / 255 for v in colour]
        linear = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in parts]
        return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))

    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)
