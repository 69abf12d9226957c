"""Says to BenchFlow how my-agent is installed, started and routed.

`benchflow run ./my-agent` and `benchflow register ./my-agent` read this file. In a package of yours it brings the agent
along wherever that is installed: name its module in the entry point group `benchflow.agents`.
"""

from pathlib import Path

from benchflow.registry import register_agent

register_agent(
    name="my-agent",
    # Bash, run once, in the agent's own folder, with `files` in it: "npm install --prefix . …"
    install_cmd="true",
    launch_cmd='exec node "$BENCHFLOW_AGENT_DIR/server.mjs"',
    protocol="acp",
    api_protocol="openai-completions",
    # The server reads BENCHFLOW_PROVIDER_BASE_URL, _API_KEY and _MODEL itself. For one that has variables of its own:
    # {"BENCHFLOW_PROVIDER_BASE_URL": "OPENAI_BASE_URL"}
    env_mapping={},
    acp_model_format="bare",
    requires_env=[],
    files={"server.mjs": Path(__file__).with_name("server.mjs")},
    version="0.1.0",
    runtimes={"node": ">=20"},
)
