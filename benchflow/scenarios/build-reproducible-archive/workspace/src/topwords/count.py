"""Counts words."""

import re
from collections import Counter
from importlib.resources import files


def stopwords():
    """Return the words that do not count."""
    return set(files("topwords").joinpath("stopwords.txt").read_text(encoding="utf-8").split())


def top(text, number=5):
    """Return the most frequent words with their counts; of equally frequent ones the alphabetically first."""
    counts = Counter(re.findall("[a-z]+", text.lower()))
    for word in stopwords():
        counts.pop(word, None)
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:number]
