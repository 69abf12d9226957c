"""An agent that misbehaves on purpose, driven by data: `python -m benchflow.agents.fake NAME`.

Each file in `behaviours/` is one behaviour; `play.py` says how they are written. A path to a file of your own works in
place of NAME. Standard library only, and quick to start.
"""
