"""What helps an agent that ended with an error, by the error's code."""

from collections.abc import Mapping

from benchflow.errors import ErrorCode

REMEDIES: Mapping[ErrorCode, str] = {
    "launch": "run `launch_cmd` by hand: it must serve ACP on its stdin and stdout, and stay in the foreground",
    "handshake": "`launch_cmd` must answer `initialize` and `session/new` with JSON-RPC on stdout, and print only that",
    "auth": "give it the trial's key by `env_mapping`; if it takes only its vendor's login, it cannot be captured",
    "crash": "look at the agent's stderr in the probe's logs",
    "protocol": "look at the frames in the probe's logs",
    "sandbox": "`benchflow doctor` says what this machine can do",
}
TOO_SLOW = "give it more time with --timeout, or look at the frames in the probe's logs for what it waits for"
