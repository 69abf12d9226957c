"""Builds dist/topwords.pyz: one file that Python runs, with the package and what it reads."""

import zipfile
from pathlib import Path

ROOT = Path(__file__).parent
TARGET = ROOT / "dist" / "topwords.pyz"

STARTER = """\
from topwords.__main__ import main

main()
"""


def contents():
    """Yield each file of the archive: its name there, and where it comes from."""
    for path in (ROOT / "src").glob("**/*"):
        yield str(path.relative_to(ROOT)), path
    yield "topwords/stopwords.txt", ROOT / "stopwords.txt"


def build():
    with zipfile.ZipFile(TARGET, "w") as archive:
        for name, path in contents():
            archive.write(path, name)
        archive.writestr("__main__.py", STARTER)
    print(TARGET)


if __name__ == "__main__":
    build()
