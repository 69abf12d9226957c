"""Runs the fake agent, as a module or as a plain script: `python -S -E` knows no package, but starts sooner."""

import os
import sys

if not __package__:
    here = os.path.abspath(__file__)
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(here))))

from benchflow.agents.fake.behaviour import UnknownBehaviour, load
from benchflow.agents.fake.play import Player

USAGE = """usage: python -m benchflow.agents.fake [NAME | FILE.json]

Speaks ACP on stdin and stdout as the behaviour NAME says; without one, as $BENCHFLOW_AGENT_VARIANT or `trivial` does.
"""


def main(arguments: list[str]) -> int:
    """Play the behaviour that the arguments or the environment name."""
    if arguments[:1] in (["-h"], ["--help"]) or len(arguments) > 1:
        sys.stderr.write(USAGE)
        return 2 if len(arguments) > 1 else 0
    name = arguments[0] if arguments else os.environ.get("BENCHFLOW_AGENT_VARIANT") or "trivial"
    try:
        behaviour = load(name)
    except UnknownBehaviour as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return Player(behaviour).run()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
