"""`benchflow gateway`: the gateway alone, for any agent anywhere."""

from pathlib import Path
from typing import Annotated

import typer

from benchflow.cli.options import (
    Faults,
    MaxRequests,
    MaxWait,
    Prices,
    RequestsPerMinute,
    RetryUpstream,
    TokensPerMinute,
)


def command(
    upstream: Annotated[
        str | None,
        typer.Option(
            metavar="UPSTREAM",
            help="The base URL of a compatible server, a provider's name, null, or script:FILE.",
            show_default=False,
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            help="Put this model into every request: provider/model, or a name that --upstream knows.",
            show_default=False,
        ),
    ] = None,
    strict_model: Annotated[
        bool, typer.Option("--strict-model", help="Refuse requests for another model, instead of rewriting them.")
    ] = False,
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Where to listen; beyond this machine a --key is needed.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 takes a free one.")] = 0,
    key: Annotated[
        str | None,
        typer.Option(
            metavar="TOKEN",
            help="Serve only clients that send this as their API key. Default: $BENCHFLOW_GATEWAY_KEY.",
            show_default=False,
        ),
    ] = None,
    prices: Prices = None,
    max_requests: MaxRequests = None,
    rpm: RequestsPerMinute = None,
    tpm: TokensPerMinute = None,
    retry_upstream: RetryUpstream = 0,
    max_wait: MaxWait = 300.0,
    faults: Faults = None,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where a folder for the record is made.")] = Path("runs"),
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON lines and nothing else on stdout.")] = False,
) -> None:
    """Pass model calls on, byte for byte, and record them: set the printed variables, and start any agent or program.

    What goes through is shown as it ends, with tokens, cost and times; `benchflow show FOLDER` shows it again. Ctrl-C
    ends it.
    """
    from benchflow.gateway.wrapping.fault_plan import read_faults
    from benchflow.gateway.wrapping.limits import Pace
    from benchflow.gateway.wrapping.retrying import Retries
    from benchflow.runner.alone import AloneRequest, serve_sync

    serve_sync(
        AloneRequest(
            upstream=upstream,
            model=model,
            strict_model=strict_model,
            host=host,
            port=port,
            key=key,
            prices=prices,
            pace=Pace(max_requests=max_requests, rpm=rpm, tpm=tpm, max_wait_s=max_wait),
            retries=Retries(times=retry_upstream, max_wait_s=max_wait),
            faults=read_faults(faults) if faults is not None else None,
            out=out,
            as_json=as_json,
        )
    )
