"""The shell text of a batch job from the start of the training on: the watch beside it, and the end."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Iterator

from .job import Job, Phase
from .slurm_shape import Shape

MARGIN_S = 30
"""Seconds before the time limit at which a training that has saved and goes on is ended, to be put into
the queue again; a third of ``save_before_end_s`` if that is less. Our choice: as long as Slurm itself waits
between TERM and KILL (KillWait)."""
WATCH_ENDS_S = 30
"""Seconds that the watch is given to tell of the end. Our choice: it needs some five."""
SAID = "middlewatch: saved at its time limit: job"
"""How the line begins by which the watch, and ``replay``, know such an end (``parsers/signatures``)."""
_SUCCESS = re.compile(r"\s*([\w./-]+)\s*(<=|>=|<|>)\s*(\S+)\s*")

_SUCCESS_TEXT = """\
import json, sys
last = None
for line in sys.stdin:
    last = json.loads(line).get("values", {{}}).get("{key}", last)
print("middlewatch: {key} was", last, "at last; it is to be {sign} {value}")
sys.exit(0 if isinstance(last, (int, float)) and last {sign} {value} else 1)"""


def text(job: Job, shape: Shape) -> Iterator[str]:
    """The lines after the start of the step."""
    if job.slurm.watch:
        yield 'watched && watch_begins "$step"'
    yield from _wait(job)
    if shape.phase is not None:
        yield from _phase(job, shape, shape.phase)
    if job.slurm.watch:
        yield f"watched && watch_ends {WATCH_ENDS_S}"
    yield 'echo "middlewatch: job $SLURM_JOB_ID ends, status $status"'
    yield 'exit "$status"'


def watch(job: Job, shape: Shape) -> Iterator[str]:
    """Functions for the watch; its daemon begins before the training, and is there when that does."""
    element = "-$SLURM_ARRAY_TASK_ID" if job.slurm.array else ""
    yield "# The watch, beside the training: it ends with the job, and the training goes on without it."
    yield "watched() { command -v middlewatch >/dev/null; }"
    yield 'mw() { middlewatch "$@" --state-dir "$short/watch"; }'
    yield "watch_begins() {  # of process $1"
    yield '    local logs=(--log "$log") saved=()'
    yield '    [ -z "$saves" ] || saved=(--checkpoints "$saves")'
    if shape.by_task(job):
        yield "    for ((rank = 0; rank < SLURM_NTASKS; rank++)); do"
        yield '        touch "${log%.out}-$rank.out"'
        yield '        logs+=(--log "${log%.out}-$rank.out")'
        yield "    done"
    yield f'    mw watch --pid "$1" --name "{shape.name}{element}" "${{logs[@]}}" "${{saved[@]}}" >>"$own/said" 2>&1 ||'
    yield '        echo "middlewatch: the watch did not begin: $own/said"'
    yield "}"
    yield "watch_ends() {  # once it has told of the end, or after $1 seconds"
    yield "    mw start >/dev/null 2>&1  # if it was ended with the rest"
    yield "    for ((n = 2; n < $1; n++)); do"
    yield "        mw runs --json 2>/dev/null | grep -q '\"ended_at\": *null' || break"
    yield "        sleep 1"
    yield "    done"
    yield "    sleep 2  # what it sends is on its way"
    yield "    mw stop >/dev/null 2>&1"
    yield '    rm -rf "$short"'
    yield "}"
    yield "if watched; then"
    yield '    mkdir -p "$own/watch"'
    yield '    short=$(mktemp -d) && ln -s "$own/watch" "$short/watch"  # the path of a socket is short'
    yield '    mw start >"$own/said" 2>&1 || echo "middlewatch: the watch did not begin: $own/said"'
    yield "else"
    yield '    echo "middlewatch: it is not on this node, and nothing watches: setup under [slurm] could load it"'
    yield "fi"
    yield ""


def _wait(job: Job) -> Iterator[str]:
    main = job.main
    yield 'running() { kill -0 "$step" 2>/dev/null; }'
    yield 'wait "$step"'
    yield 'while running && [ -z "$asked" ]; do wait "$step"; done  # a signal ends a wait early'
    if job.slurm.requeue and main.checkpoints:
        lead = math.ceil(main.save_before_end_s)
        yield from _again(job, lead, min(MARGIN_S, math.ceil(lead / 3)))
    yield 'while running; do wait "$step"; done'
    yield 'wait "$step"; status=$?'
    yield ""


def _again(job: Job, lead: int, margin: int) -> Iterator[str]:
    """Put the job into the queue again if the time limit is near and something was saved."""
    yield 'saved() { [ -n "$(find "$saves" -type f -newer "$own/$1" -print -quit 2>/dev/null)" ]; }  # since then'
    yield 'if [ -n "$asked" ]; then'
    yield f"    last=$((${{SLURM_JOB_END_TIME:-$(date +%s) + {lead}}} - {margin}))"
    yield '    while running && [ -z "$stopped" ] && [ "$(date +%s)" -lt "$last" ]; do sleep 1; done'
    yield "    again="
    yield '    if [ -n "$stopped" ]; then'
    yield "        :"
    yield "    elif ! running; then"
    yield "        saved asked && again=1  # else it has finished or failed"
    yield "    elif saved began; then"
    yield "        again=1"
    yield '        kill -TERM "$step"  # it has saved and would go on until the limit ends it'
    yield f"        for ((n = 0; n < {max(1, margin // 3)}; n++)); do running && sleep 1; done"
    yield "    else"
    yield '        echo "middlewatch: not put into the queue again: nothing was saved in $saves since this start"'
    yield "    fi"
    yield '    if [ -n "$again" ]; then'
    yield f'        echo "{SAID} $SLURM_JOB_ID is requeued, and goes on from there"'
    if job.slurm.watch:
        yield "        left=$((last - $(date +%s)))"
        yield f"        watched && watch_ends $((left < {margin // 3} ? {margin // 3} : left < {WATCH_ENDS_S} ? left : {WATCH_ENDS_S}))"
    yield '        scontrol requeue "$SLURM_JOB_ID" && exit 0'
    yield "    fi"
    yield "fi"


def _phase(job: Job, shape: Shape, phase: Phase) -> Iterator[str]:
    """What has to be true at the end of a phase; the next one waits for the status of this job."""
    yield f"# The phase has succeeded if its saves are good{' and its reports are' if phase.success else ''}."
    if job.main.checkpoints:
        yield '[ "$status" != 0 ] || middlewatch verify "$saves" || status=1'
    if phase.success:
        found = _SUCCESS.fullmatch(phase.success)
        assert found is not None  # the reader of the job file has looked at it
        program = _SUCCESS_TEXT.format(key=found[1], sign=found[2], value=float(found[3]))
        yield "success() {"
        log = "${log%.out}-0.out" if shape.by_task(job) else "$log"
        yield f'    middlewatch replay --json --metrics "{log}" | python3 -c {shlex.quote(program)}'
        yield "}"
        yield '[ "$status" != 0 ] || success || status=1'
    if job.slurm.watch:
        yield 'mw report --md --out "$own/report.md" >/dev/null && echo "middlewatch: report in $own/report.md"'
    yield ""
