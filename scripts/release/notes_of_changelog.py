"""The sections of CHANGELOG.md: `## Unreleased`, and `## 1.2.3 (2026-01-31)` for each version of the stable channel."""

import re

HEADING = re.compile(r"^## (.+?)(?: \(\d{4}-\d{2}-\d{2}\))?[ \t]*$", re.M)


def _bounds(text, name):
    """Where a section's text begins and ends; None where there is no such section."""
    headings = list(HEADING.finditer(text))
    for index, heading in enumerate(headings):
        if heading.group(1) == name:
            return heading.end(), headings[index + 1].start() if index + 1 < len(headings) else len(text)
    return None


def section(text, name):
    """What stands under a heading, without it and without empty lines around; None where there is nothing."""
    bounds = _bounds(text, name)
    return (text[slice(*bounds)].strip("\n") or None) if bounds else None


def closed(text, version, date):
    """The changelog with what was unreleased under the version's own heading. None where nothing was."""
    if not section(text, "Unreleased"):
        return None
    start = _bounds(text, "Unreleased")[0]
    return f"{text[:start]}\n\n## {version} ({date}){text[start:]}"
