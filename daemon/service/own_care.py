"""What the daemon does about its own troubles: a lost store is written anew, a lost directory begun anew."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from functools import partial

from ..system.errors import MiddlewatchError
from ..system.loop import Callback
from . import state_lock
from .alerting import Alerter
from .context import Context
from .finding import Finding
from .own_report import OwnReport
from .publishing import Publisher
from .watched_run import WatchedRun


class OwnCare:
    """Keeps the state directory usable while the daemon runs."""

    def __init__(
        self,
        context: Context,
        alerter: Alerter,
        publisher: Publisher,
        finding: Finding,
        own: OwnReport,
        log_line: Callable[[str], None],
    ) -> None:
        self._context = context
        self._alerter = alerter
        self._publisher = publisher
        self._finding = finding
        self._own = own
        self._log_line = log_line
        self._lost = context.store.lost_in_use
        self._complained = ""

    def mind_store(self) -> None:
        """After the store was lost in use: put everything again that is known, and tell it."""
        context = self._context
        if context.store.lost_in_use == self._lost:
            return
        self._lost = context.store.lost_in_use
        self._alerter.tell_lost_store()
        context.pump.loop.each(self._put_again())

    def _put_again(self) -> Iterator[Callback]:
        """All that is known, in steps: three hundred runs with their files take seconds."""
        context = self._context
        for incident in context.incidents.all():
            context.save_incident(incident)
        yield self._alerter.put_again
        yield self._put_finding
        for watched in list(context.runs.values()):
            yield partial(self._put_run, watched)
        yield self._flush

    def _put_run(self, watched: WatchedRun) -> None:
        run, context = watched.spec.id, self._context
        if run not in context.runs:
            return
        if watched.alive:
            self._publisher.publish(watched, anew=True)
        else:  # its sources are closed: nothing can be worked out anew
            context.store.put("run", run, watched.save(), context.clock.now())
            self._publisher.want(watched)

    def _put_finding(self) -> None:
        if self._finding.on:
            self._finding.switch(True)

    def _flush(self) -> None:
        self._context.store.flush()

    def mind_state(self) -> None:
        """Begin anew where the state directory should be, if it is another one or was deleted.

        Its disk may have been unmounted, or mounted over. The directory that is there now is taken
        under the same conditions as at a start, so that commands reach the daemon again and what
        happens is kept; a disk that comes back is taken again in the same way.
        """
        context, own = self._context, self._own
        if own.replaced():
            try:
                fresh = state_lock.take(context.state, self._log_line)
            except MiddlewatchError as error:
                if str(error) != self._complained:
                    self._complained = str(error)
                    self._log_line(f"the state directory is gone: {error}")
                return
            os.close(own.lock)
            own.lock, self._complained = fresh, ""
            self._log_line(
                f"the state directory {context.state.root} was replaced: begun anew in it"
            )
            context.store.look()
            self.mind_store()
        self._publisher.write_left()
        if own.server is not None and not own.server.trouble:
            gone = True
            with contextlib.suppress(OSError):
                os.stat(context.state.socket)
                gone = False
            if gone:
                own.server.open_again()
