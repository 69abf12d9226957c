"""`python -m benchflow.agents.mini`: serve ACP on stdin and stdout."""

import asyncio
import contextlib
import os
import signal

from acp import run_agent, stdio_streams

from benchflow.agents.mini.agent import MiniAgent
from benchflow.agents.mini.chat import ChatApi
from benchflow.agents.mini.pace import MOST_TURNS, Pace
from benchflow.agents.mini.transport import FRAME_LIMIT, LineTransport


async def serve() -> None:
    """Serve until stdin ends or SIGTERM comes; whatever a tool started by then is killed."""
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    reader, writer = await stdio_streams(limit=FRAME_LIMIT)
    agent = MiniAgent(
        ChatApi(
            base_url=os.environ.get("OPENAI_BASE_URL", "https://api.openai.com/v1"),
            api_key=os.environ.get("OPENAI_API_KEY", ""),
        ),
        model=os.environ.get("OPENAI_MODEL", ""),
        context_tokens=int(os.environ.get("MINI_CONTEXT_TOKENS", "128000")),
        pace=Pace(
            max_turns=int(os.environ.get("MINI_MAX_TURNS", MOST_TURNS)),
            grace_turns=int(os.environ.get("MINI_GRACE_TURNS", "0")),
        ),
    )
    await run_agent(agent.as_acp(), LineTransport(reader, writer))


with contextlib.suppress(asyncio.CancelledError, KeyboardInterrupt):
    asyncio.run(serve())
