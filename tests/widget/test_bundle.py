"""What a page loads for all elements."""

import gzip

from benchmarks.widget import BUNDLE_BYTES
from tests.widget.backend import ROOT


def test_the_bundle_of_all_elements_stays_small():
    assert len(gzip.compress((ROOT / "widget/dist/qwestly.js").read_bytes())) <= BUNDLE_BYTES
