"""The files that a page loads for all elements."""

import gzip

from tests.widget.backend import ROOT

GZIPPED_BYTES = 120_000


def test_the_bundle_of_all_elements_stays_small():
    assert len(gzip.compress((ROOT / "widget/dist/qwestly.js").read_bytes())) <= GZIPPED_BYTES
