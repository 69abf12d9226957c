"""What every dialect of model API implements. A dialect is pure: bytes and values in, values out."""

from collections.abc import Sequence
from typing import Protocol

from benchflow.gateway.message import Assembled, Change, ModelAnswer, ModelRequest, RawRequest, RawResponse, Route


class Assembler(Protocol):
    """Makes one value of a response while it passes by."""

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes of the body. Never raises, whatever they are."""
        ...

    def result(self) -> Assembled:
        """Return what was made of all bytes so far."""
        ...


class Dialect(Protocol):
    name: str
    """As a manifest's `api_protocol` says it: `openai-completions`, ..."""
    base_path: str
    """What follows host and port in the base URL that clients of this dialect expect: `/v1`, or nothing."""
    key_header: str
    """The header in which a provider of this dialect expects the key."""
    key_prefix: str
    """What stands before the key there: `Bearer `, or nothing."""
    conversation: str
    """The member of a request's body that is the conversation."""

    def route(self, method: str, path: str) -> Route | None:
        """Say what the request is for; None: not of this dialect."""
        ...

    def read(self, request: RawRequest) -> ModelRequest:
        """Read a generate request. Raises ValueError where the body is not one."""
        ...

    def set_model(self, request: RawRequest, model: str) -> tuple[RawRequest, Change]:
        """Replace the model by a splice in the original bytes, or in the path."""
        ...

    def append_text(self, request: RawRequest, text: str, at: int | None = None) -> tuple[RawRequest, Change]:
        """Add a text in the dialect's nearest form to a system message, by a splice in the original bytes.

        It stands behind the first `at` items of the conversation, or at its end. Raises ValueError where there is no
        conversation, or it has fewer items.
        """
        ...

    def write(self, answer: ModelAnswer, request: ModelRequest) -> RawResponse:
        """Write an answer, streamed if the request asks for it."""
        ...

    def write_models(self, models: Sequence[str]) -> RawResponse:
        """Write a list of models."""
        ...

    def write_model(self, model: str) -> RawResponse:
        """Write one model of the list."""
        ...

    def write_count(self, tokens: int) -> RawResponse:
        """Write how many tokens a request has; an error where the dialect has no such question."""
        ...

    def refuse(self, request: RawRequest, status: int, message: str) -> RawResponse:
        """Write an error in the dialect's own form, `origin` gateway."""
        ...

    def assembler(self) -> Assembler: ...
