"""What is said to an agent that runs alone: the same as inside, in the same order, by the smallest client."""

import time
from collections.abc import Mapping
from typing import Any

from benchflow.gateway.records.ledger import Ledger
from benchflow.manifest import Manifest
from benchflow.parity.driver import AUTH_REQUIRED, Driver, Refused, model_requests
from benchflow.session.agentinfo import read_agent_info
from benchflow.session.model import model_name


class Conversation:
    """One session with an agent, whose model calls `ledger` records."""

    def __init__(
        self,
        driver: Driver,
        ledger: Ledger,
        *,
        manifest: Manifest,
        provider: str,
        model: str | None,
        timeout_s: float | None,
    ) -> None:
        """`model` None: the agent chooses by itself. `timeout_s` is for all prompts together; None: no limit."""
        self.said: list[str] = []
        """What the agent said to each prompt."""
        self.version: str | None = None
        self._driver = driver
        self._ledger = ledger
        self._manifest = manifest
        self._provider = provider
        self._model = model
        self._left_s = timeout_s
        self._session = ""
        self._over = False

    async def open(self, cwd: str) -> None:
        """Shake hands, open a session, and choose the model where that is offered. Raises Refused and TrialError."""
        patience_s = self._manifest.client.handshake_timeout_s
        greeting = await self._driver.initialize(patience_s)
        self.version = read_agent_info(greeting).version
        try:
            session = await self._driver.new_session(cwd, patience_s)
        except Refused as refused:
            if refused.code != AUTH_REQUIRED:
                raise
            await self._authenticate(greeting, patience_s)
            session = await self._driver.new_session(cwd, patience_s)
        self._session = str(session.get("sessionId"))
        if self._manifest.supports_acp_set_model and self._model is not None:
            await self._choose(self._model, session, patience_s)

    async def _authenticate(self, greeting: Mapping[str, Any], patience_s: float) -> None:
        """Take the first way that needs no more than the key that is in the environment."""
        for method in read_agent_info(greeting).auth_methods:
            if method.keyed:
                try:
                    await self._driver.ask("authenticate", {"methodId": method.id}, patience_s)
                except Refused:
                    continue
                return

    async def _choose(self, model: str, session: Mapping[str, Any], patience_s: float) -> None:
        named = model_name(model, self._manifest.acp_model_format, self._provider)
        for method, params in model_requests(session, self._session, (named, model)):
            try:
                await self._driver.ask(method, params, patience_s)
            except Refused:
                continue  # its launch may have chosen it already; the wire will show
            return

    async def prompt(self, text: str) -> None:
        """Send a prompt and wait for its end; nothing where an earlier one ended in an error. Raises TrialError."""
        if self._over:
            return
        self._driver.texts.clear()
        self._ledger.prompt_sent(text)
        begun = time.monotonic()
        try:
            await self._driver.prompt(self._session, text, self._left_s)
        except Refused:
            self._over = True  # how the turn ended stands in the log, and is compared
        finally:
            self._ledger.prompt_answered()
            if self._left_s is not None:
                self._left_s = max(0.0, self._left_s - (time.monotonic() - begun))
        self.said.append("".join(self._driver.texts))
