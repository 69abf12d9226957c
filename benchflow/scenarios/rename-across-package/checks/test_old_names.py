import re
import unittest
from pathlib import Path

STAYS = re.compile(r"basketball|[\"'`]basket[\"'`]|picnic basket", re.IGNORECASE)


class OldNames(unittest.TestCase):
    def test_nothing_has_the_old_name(self):
        self.assertTrue(Path("shop/cart.py").is_file())
        for path in sorted(Path(".").rglob("*")):
            inside = path.parts[0]
            if inside in ("data", ".git") or not path.is_file() or path.suffix not in (".py", ".md", ".toml", ".txt"):
                continue
            self.assertNotIn("basket", path.name.lower(), str(path))
            left = STAYS.sub("", path.read_text(encoding="utf-8"))
            found = re.search(r".*basket.*", left, re.IGNORECASE)
            self.assertIsNone(found, f"{path}: {found and found.group()}")
