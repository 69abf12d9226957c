"""Keeps secrets out of everything that is written: replaces them in bytes, whatever they were encoded in."""
