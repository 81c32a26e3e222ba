"""Every event of the elements has a listener: an enclosing element, or the local page."""

import re

from tests.widget.backend import ROOT


def test_every_event_of_an_element_has_a_listener():
    sources = "".join(path.read_text() for path in sorted((ROOT / "widget/src").rglob("*.ts")))
    page = (ROOT / "infra/local/page/page.js").read_text()
    readme = (ROOT / "widget/README.md").read_text()
    sent = set(re.findall(r'new CustomEvent\("(\w+)"', sources))
    within = set(re.findall(r"@(\w+)=", sources)) | set(re.findall(r"element\(.*, (review) }", sources))
    assert {"asklesson", "erased", "showapprovals"} <= sent
    assert sent - within == set(re.findall(r'listen\("(\w+)"', page))
    assert sorted(name for name in sent - within if f"`{name}`" not in readme) == []
