"""OpenAI's responses for tests: the dialect, and generated JSON that looks like its requests and events."""

from hypothesis import strategies as st

from benchflow.gateway.dialects.responses import Responses
from benchflow.gateway.dialects.responses_assembler import ENDINGS
from benchflow.gateway.message import Assembled

RESPONSES = Responses()


def assembled(*pieces: bytes) -> Assembled:
    assembler = RESPONSES.assembler()
    for piece in pieces:
        assembler.feed(piece)
    return assembler.result()


texts = st.text(st.characters(codec="utf-8"), max_size=12)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**80), 2**80) | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=10,
)
NAMES = (
    ("type", "role", "content", "text", "call_id", "id", "name", "namespace", "arguments", "input", "output", "tools"),
    ("summary", "action", "operation", "status", "execution", "server_label", "parameters", "format", "model", "usage"),
    ("response", "item", "delta", "output_index", "content_index", "summary_index", "item_id", "error", "message"),
)
WORDS = (
    ("message", "function_call", "custom_tool_call", "local_shell_call", "reasoning", "function_call_output", "user"),
    ("namespace", "function", "custom", "mcp", "assistant", "output_text", "shell_call_output", "tool_search_call"),
    ("response.created", "response.output_item.added", "response.output_text.delta", "error", *sorted(ENDINGS)),
    ("response.function_call_arguments.delta", "response.reasoning_summary_text.delta", "compaction_trigger"),
)
names = st.sampled_from([name for line in NAMES for name in line])
words = st.sampled_from([word for line in WORDS for word in line])
likely = st.recursive(
    json_values | words | st.integers(-2, 3),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=5),
    max_leaves=25,
)
