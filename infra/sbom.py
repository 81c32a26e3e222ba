"""Print the components of a release as CycloneDX 1.6: `python infra/sbom.py`. It reads the pins of both layers, with
the hashes of the distributions that may be installed, and needs only Python."""

import json
import re
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

ROOT = Path(__file__).parents[1]
LISTS = ("layer.txt", "files.txt")
PIN = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[^\]]*\])?==([^ ;\\]+)((?:.*\\\n)*.*)", re.MULTILINE)


def components() -> list[dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for name in LISTS:
        for package, version, rest in PIN.findall((ROOT / "requirements" / name).read_text(encoding="utf-8")):
            purl = f"pkg:pypi/{re.sub(r'[-_.]+', '-', package).lower()}@{version}"
            hashes = [{"alg": "SHA-256", "content": each} for each in re.findall(r"--hash=sha256:(\w{64})", rest)]
            found[purl] = {
                "type": "library",
                "bom-ref": purl,
                "name": package,
                "version": version,
                "purl": purl,
                # Hashes of its distributions. One of them was installed: the wheel for Lambda's processor, or the one
                # for any.
                "hashes": hashes,
            }
    return [found[purl] for purl in sorted(found)]


def bom() -> dict[str, Any]:
    """Return the same document for the same pins: it has no timestamp, and its serial number depends only on its
    content."""
    project = re.search(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)
    assert project, "pyproject.toml has a version."
    found = components()
    own = {"type": "application", "bom-ref": "qwestly-agent", "name": "qwestly-agent", "version": project[1]}
    number = uuid5(NAMESPACE_URL, json.dumps([own, found]))
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{number}",
        "version": 1,
        "metadata": {"component": own},
        "components": found,
    }


if __name__ == "__main__":
    print(json.dumps(bom(), indent=1))
