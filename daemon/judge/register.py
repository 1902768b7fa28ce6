"""The incidents that are known, found by their run and by their place.

A run is judged once a second and more, and each time its own incidents are looked at. With three hundred
runs that each have one, a search through all of them would cost three hundred times as much as one run
does, so they are filed by run. An incident is resolved, and a trouble of the box moves to other runs, in
several places of the code: what does not belong to its place any more is found when it is met there.
"""

from __future__ import annotations

from collections.abc import Iterable

from .incident import Incident, age

_Filed = dict[str, dict[str, Incident]]
"""Run or place -> the incidents filed there, by id, in the order in which they came."""


class Register:
    """All incidents that are still of interest."""

    def __init__(self, known: Iterable[Incident] = ()) -> None:
        self._all: dict[str, Incident] = {}
        self._open: dict[str, Incident] = {}
        self._by_run: _Filed = {}
        self._by_place: _Filed = {}
        self._resolved: _Filed = {}
        """Of each run those that are resolved and concerned it."""
        for incident in known:
            self.file(incident)

    def __contains__(self, incident_id: str) -> bool:
        return incident_id in self._all

    def get(self, incident_id: str) -> Incident | None:
        """The incident with this id, if it is known."""
        return self._all.get(incident_id)

    def all(self) -> list[Incident]:
        """Every incident, oldest first."""
        return sorted(self._all.values(), key=age)

    def file(self, incident: Incident) -> None:
        """Take up an incident, or take note that it concerns other runs or another place now."""
        self._all[incident.id] = incident
        if incident.state == "resolved":
            self._put_away(incident)
            return
        self._open[incident.id] = incident
        for run in (incident.run, *incident.runs):
            self._by_run.setdefault(run, {})[incident.id] = incident
        if incident.place:
            self._by_place.setdefault(incident.place, {})[incident.id] = incident

    def open(self) -> list[Incident]:
        """Incidents that are not resolved, oldest first."""
        for incident in list(self._open.values()):
            self._is_open(incident)
        return sorted(self._open.values(), key=age)

    def of_run(self, run: str) -> list[Incident]:
        """Those that are not resolved and concern this run, oldest first."""
        filed = self._by_run.get(run)
        if not filed:
            return []
        found = []
        for incident in list(filed.values()):
            if self._is_open(incident) and incident.concerns(run):
                found.append(incident)
            else:
                filed.pop(incident.id, None)
        if not filed:
            self._by_run.pop(run, None)
        return sorted(found, key=age) if len(found) > 1 else found

    def at_place(self, place: str) -> list[Incident]:
        """Those that are not resolved and about this place of the box, in the order they came."""
        filed = self._by_place.get(place)
        if not filed:
            return []
        found = []
        for incident in list(filed.values()):
            if self._is_open(incident) and incident.place == place:
                found.append(incident)
            else:
                filed.pop(incident.id, None)
        if not filed:
            self._by_place.pop(place, None)
        return found

    def resolved_of(self, run: str) -> list[Incident]:
        """Those that are resolved and concerned this run."""
        self.of_run(run)  # what was resolved meanwhile is filed as that
        return list(self._resolved.get(run, {}).values())

    def forget_resolved(self, before: float) -> None:
        """Drop incidents resolved before ``before`` (epoch seconds)."""
        self.open()
        for run, filed in list(self._resolved.items()):
            for incident in list(filed.values()):
                if incident.resolved_at is not None and incident.resolved_at < before:
                    del filed[incident.id]
                    self._all.pop(incident.id, None)
            if not filed:
                del self._resolved[run]

    def _is_open(self, incident: Incident) -> bool:
        """Whether it is open; one that was resolved since it was filed is put with its like."""
        if incident.state != "resolved":
            return True
        if self._open.pop(incident.id, None) is not None:
            self._put_away(incident)
        return False

    def _put_away(self, incident: Incident) -> None:
        for run in (incident.run, *incident.runs):
            self._resolved.setdefault(run, {})[incident.id] = incident
