"""The dialects that the gateway speaks, by the name that a manifest's `api_protocol` gives them."""

from benchflow.gateway.chat import Chat
from benchflow.gateway.dialect import Dialect
from benchflow.gateway.google import Google
from benchflow.gateway.messages import AnthropicMessages
from benchflow.gateway.responses import Responses

DIALECTS: dict[str, Dialect] = {
    dialect.name: dialect
    for dialect in (
        Chat(),
        AnthropicMessages(),
        Google(),
        Responses(),
    )
}
