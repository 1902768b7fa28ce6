"""All views of the screen."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..desk import Desk
from ..view import Key, View
from .checkpoints import Checkpoints
from .coverage import Coverage
from .disks import Disks
from .fleet import Fleet
from .gpus import Gpus
from .help import Help
from .incident import IncidentView
from .incidents import Incidents
from .log import LogView
from .overview import Overview
from .run import RunView


def all_views(desk: Desk, common: Sequence[Key], before: Callable[[], View]) -> dict[str, View]:
    """By name. ``common``: the keys that each of them has; ``before``: the view that help is about."""
    listed = Incidents(desk)
    views: list[View] = [
        *(Overview(desk), RunView(desk), Gpus(desk), Checkpoints(desk), listed),
        *(IncidentView(desk, listed), LogView(desk), Disks(desk), Coverage(desk)),
        *(Fleet(desk), Help(desk, common, before)),
    ]
    return {view.name: view for view in views}
