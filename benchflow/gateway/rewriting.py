"""Changes a request's body by splices, whatever it comes in: compressed, or too long for memory. Pure."""

from collections.abc import Callable

from benchflow.gateway.altered import altered
from benchflow.gateway.message import Change, ChangeKind, RawRequest
from benchflow.gateway.reading import plain


def rewrite(request: RawRequest, kind: ChangeKind, change: Callable[[RawRequest], RawRequest]) -> RawRequest:
    """Apply `change` to the request with its body plain; a compressed body goes on uncompressed.

    Raises TooLongToChange, and what `change` raises.
    """
    readable = plain(request)
    changed = change(readable)
    if readable.long:
        changed = altered(changed, long=readable.long.changed(readable.body, changed.body))
    if readable is not request:
        coding = request.header("content-encoding")
        note = Change(kind=kind, path="header.content-encoding", before=coding, after=None)
        changed = altered(changed, changes=(*changed.changes, note))
    return changed
