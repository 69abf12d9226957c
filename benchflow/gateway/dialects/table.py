"""The dialects that the gateway speaks, by the name that a manifest's `api_protocol` gives them."""

from benchflow.gateway.dialects.chat import Chat
from benchflow.gateway.dialects.dialect import Dialect
from benchflow.gateway.dialects.google import Google
from benchflow.gateway.dialects.messages import AnthropicMessages
from benchflow.gateway.dialects.responses import Responses

DIALECTS: dict[str, Dialect] = {
    dialect.name: dialect
    for dialect in (
        Chat(),
        AnthropicMessages(),
        Google(),
        Responses(),
    )
}
