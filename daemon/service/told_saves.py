"""What ``verify`` hands to the daemon: its verdicts, for the runs whose saves these are."""

from __future__ import annotations

from collections.abc import Sequence

from ..checkpoints.ranking import RankingRules
from ..report.index_file import write_index
from ..sources.told_verdicts import ToldVerdict, judged
from .context import Context
from .watched_run import WatchedRun


def take_verdicts(context: Context, told: Sequence[ToldVerdict]) -> list[str]:
    """Note the verdicts; the paths, as the daemon knows them, about which they say something new.

    Of a living run the sentinels hear of it, as of what the verifier finds. Of one that has ended
    the index is written anew: nobody follows its saves any more.
    """
    now, taken = context.clock.now(), []
    for watched in list(context.runs.values()):
        source = watched.saves.source
        if source is not None and watched.saves.open:
            news = [seen for one in told if (seen := source.told(one, now)) is not None]
            watched.add_observations(news)
            taken += [seen.path for seen in news]
        else:
            taken += _of_ended(context, watched, told, now)
    return taken


def _of_ended(
    context: Context, watched: WatchedRun, told: Sequence[ToldVerdict], now: float
) -> list[str]:
    by_path = {path: one for one in told for path in one.paths}
    news = {
        seen.path: found
        for seen in watched.history.checkpoints
        if (one := by_path.get(seen.path)) and (found := judged(seen, one, now))
    }
    if news:
        known = watched.history.checkpoints
        watched.history.checkpoints = [news.get(seen.path, seen) for seen in known]
        watched.reindex(now, RankingRules.of(context.config))
        write_index(str(context.state.checkpoint_index(watched.spec.id)), watched.index)
        context.store.put("run", watched.spec.id, watched.save(), now)
        context.store.flush()
    return [*news]
