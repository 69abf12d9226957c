"""The command line."""

import sys
from importlib.resources import files
from pathlib import Path

from topwords.count import top


def main():
    if sys.argv[1:] == ["--version"]:
        print(files("topwords").joinpath("VERSION").read_text(encoding="utf-8").strip())
        return
    for word, number in top(Path(sys.argv[1]).read_text(encoding="utf-8")):
        print(word, number)


if __name__ == "__main__":
    main()
