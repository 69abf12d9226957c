"""The dialect `google-generative-ai`: Google's generateContent. Its model stands in the path, not in the body."""

from collections.abc import Sequence
from dataclasses import replace
from urllib.parse import parse_qsl

import orjson

from benchflow.gateway.dialects.google_answers import (
    write_answer,
    write_error,
    write_model_list,
    write_one_model,
    write_token_count,
)
from benchflow.gateway.dialects.google_assembler import GoogleAssembler
from benchflow.gateway.dialects.google_contents import read_messages, read_schema, read_tool_choice, read_tools
from benchflow.gateway.dialects.google_paths import put_model, route_of
from benchflow.gateway.dialects.json_text import insert_item, members, read_json
from benchflow.gateway.message import Change, ModelAnswer, ModelRequest, RawRequest, RawResponse, Route

CONTENTS = "contents"


class Google:
    """Methods of models below any path, in any version of the API, lists of models, and probes of the root."""

    name = "google-generative-ai"
    base_path = ""
    key_header = "x-goog-api-key"
    key_prefix = ""
    conversation = CONTENTS

    def route(self, method: str, path: str) -> Route | None:
        """Say what the request is for."""
        return route_of(method, path)

    def read(self, request: RawRequest) -> ModelRequest:
        """Read a generate request. Raises ValueError where the path or the body is not one's."""
        route = self.route(request.method, request.path)
        body = read_json(request.body)
        if route is None or route.kind != "generate" or not isinstance(body, dict):
            raise ValueError("not a request to generate content")
        if not isinstance(body.get(CONTENTS), list | dict):
            raise ValueError("a request without contents")
        return ModelRequest(
            model=route.model or "",
            messages=read_messages(body),
            tools=read_tools(body),
            tool_choice=read_tool_choice(body),
            stream=route.stream,
            stream_form="array" if _wants_array(request, route) else "events",
            schema=read_schema(body),
        )

    def set_model(self, request: RawRequest, model: str) -> tuple[RawRequest, Change]:
        """Replace the model in the path."""
        path = put_model(request.path, model)
        route = self.route(request.method, request.path)
        change = Change(kind="model", path="url.model", before=route and route.model, after=model)
        return replace(request, path=path, changes=(*request.changes, change)), change

    def append_text(self, request: RawRequest, text: str, at: int | None = None) -> tuple[RawRequest, Change]:
        """Add a content of the user's behind the first `at` contents, or at the end: no other role could say it there.

        It is a content of its own, so that the one before it, which may hold the results of functions, stays as it is,
        and so that its place can be told in the requests that follow. Raises ValueError where there are no contents.
        """
        change = Change(kind="wrap_up", path=f"body.{CONTENTS}", before=None, after=text)
        item = orjson.dumps({"role": "user", "parts": [{"text": text}]})
        body = insert_item(_listed(request.body), CONTENTS, item, at)
        return replace(request, body=body, changes=(*request.changes, change)), change

    def write(self, answer: ModelAnswer, request: ModelRequest) -> RawResponse:
        """Write an answer, streamed if the request asks for it."""
        return write_answer(answer, request)

    def write_models(self, models: Sequence[str]) -> RawResponse:
        """Write a list of models."""
        return write_model_list(models)

    def write_model(self, model: str) -> RawResponse:
        """Write one model of the list."""
        return write_one_model(model)

    def write_count(self, tokens: int) -> RawResponse:
        """Write how many tokens a request has."""
        return write_token_count(tokens)

    def refuse(self, request: RawRequest, status: int, message: str) -> RawResponse:
        """Write an error as Google's servers do."""
        route = self.route(request.method, request.path)
        return write_error(status, message, listed=route is not None and _wants_array(request, route))

    def assembler(self) -> GoogleAssembler:
        """Return what makes one value of a response."""
        return GoogleAssembler()


def _wants_array(request: RawRequest, route: Route) -> bool:
    """Whether a stream is wanted as one array in pieces, as it is where the query does not ask for events."""
    return route.stream and ("alt", "sse") not in parse_qsl(request.query)


def _listed(body: bytes) -> bytes:
    """Make a list of a conversation that is one content without a list around it."""
    found = [place for place in members(body) if place.name == CONTENTS]
    if not found or body[found[-1].start : found[-1].start + 1] != b"{":
        return body
    start, end = found[-1].start, found[-1].end
    return body[:start] + b"[" + body[start:end] + b"]" + body[end:]
