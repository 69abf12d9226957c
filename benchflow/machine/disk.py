"""How much room folders take."""

import os
from pathlib import Path


def folder_bytes(folder: Path) -> int:
    """Return the bytes that a folder takes on disk; a file with several names counts once."""
    seen: set[tuple[int, int]] = set()
    total = 0
    for place, folders, names in os.walk(folder):
        for name in (*folders, *names):
            try:
                entry = os.lstat(os.path.join(place, name))
            except FileNotFoundError:
                continue  # removed meanwhile
            if entry.st_nlink > 1 and name in names:
                if (entry.st_dev, entry.st_ino) in seen:
                    continue
                seen.add((entry.st_dev, entry.st_ino))
            total += entry.st_blocks * 512
    return total
