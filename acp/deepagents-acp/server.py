"""An agent of Deep Agents' defaults, served over ACP, with the shell and the files of the session's own directory."""

import asyncio
import os

from acp import run_agent
from deepagents import create_deep_agent
from deepagents.backends import LocalShellBackend
from deepagents_acp.server import AgentServerACP, AgentSessionContext
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import MemorySaver
from langgraph.graph.state import CompiledStateGraph

MEMORY = MemorySaver()


def make_agent(session: AgentSessionContext) -> CompiledStateGraph:
    """Make the agent of one session. Where to find the model is in `OPENAI_BASE_URL` and `OPENAI_API_KEY`."""
    return create_deep_agent(
        model=ChatOpenAI(model=os.environ["OPENAI_MODEL"], stream_usage=True),
        backend=LocalShellBackend(root_dir=session.cwd, virtual_mode=False, inherit_env=True),
        system_prompt=f"Your working directory is {session.cwd}.",
        checkpointer=MEMORY,
    )


if __name__ == "__main__":
    asyncio.run(run_agent(AgentServerACP(make_agent)))
