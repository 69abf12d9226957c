"""Stored runs in the formats of other systems, one format a file or a folder. What a format cannot say is left out, and
why is said: no value is made up for it.
"""
