"""Versions, as the tags of the repository have them: `v1.2.3`, and `v1.2.3-beta.4` before it. Whatever else is tagged is
no version, and is not looked at.
"""

import re
import subprocess
import sys

FORM = re.compile(r"(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})(?:-beta\.([1-9]\d{0,8}))?", re.ASCII)


class Version:
    """`beta` is None for a version of the stable channel, which comes after all its betas."""

    def __init__(self, numbers, beta=None):
        self.numbers, self.beta = tuple(numbers), beta

    @classmethod
    def read(cls, text):
        """None where the text is no version, however little it lacks."""
        found = FORM.fullmatch(text)
        if not found:
            return None
        major, minor, patch, beta = found.groups()
        return cls(map(int, (major, minor, patch)), int(beta) if beta else None)

    def bumped(self, part):
        major, minor, patch = self.numbers
        return Version({"major": (major + 1, 0, 0), "minor": (major, minor + 1, 0), "patch": (major, minor, patch + 1)}[part])

    def __str__(self):
        return ".".join(map(str, self.numbers)) + (f"-beta.{self.beta}" if self.beta else "")

    def _order(self):
        return (self.numbers, self.beta is None, self.beta or 0)

    def __lt__(self, other):
        return self._order() < other._order()

    def __eq__(self, other):
        return self._order() == other._order()

    def __hash__(self):
        return hash(self._order())


def git(*arguments):
    """What git says. It ends the program where git fails, and git has then said why."""
    result = subprocess.run(["git", *arguments], stdout=subprocess.PIPE, text=True)
    if result.returncode != 0:
        sys.exit(f"git {' '.join(arguments)} failed")
    return result.stdout


def released():
    """Every version that the repository has a tag of."""
    if git("rev-parse", "--is-shallow-repository").strip() == "true":
        sys.exit("this clone is shallow, so it may lack tags: fetch everything first (git fetch --unshallow --tags)")
    tags = git("tag", "--list", "v*").split()
    return {version for version in (Version.read(tag[1:]) for tag in tags) if version}
