"""The watch in a pod: a container beside the training, or a part of its own container.

The training never depends on the watch: it runs, is ended and gives its exit status also where
``middlewatch`` does not start. The shell is that of POSIX, as small images have it. What a person wrote comes
to the scripts as arguments.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

FOLDER = "/middlewatch"
"""A volume of the pod, seen by both containers at the same place: log, process id, state of the watch."""
SIDECAR_GRACE_S = 30
"""What the pod gives the watch when the training has ended: it judges once a second, and a service answers a push
within one or two. Our choice."""
CPUS, MEMORY = "250m", "256Mi"
"""Of the container that watches; our choice: several times of what a daemon with one run was seen to use,
since a verification reads whole checkpoints."""

SAID = {"MW_ON_SIGTERM": "middlewatch: SIGTERM: the cluster takes this pod away"}
"""Variable of a pod that may be taken away at any time: what its first process writes into the log for the watch
when it is told to end."""

TRAINING = """\
# The output goes to the log of the container, and to a file that the watch reads.
mkfifo /middlewatch/output.pipe || exec "$@"
tee -a /middlewatch/output.log </middlewatch/output.pipe &
tee=$!
"$@" >/middlewatch/output.pipe 2>&1 &
child=$!
echo $child >/middlewatch/train.pid
says=$MW_ON_SIGTERM
trap 'told=1; [ -z "$says" ] || echo "$says" >>/middlewatch/output.log; kill -TERM $child' TERM
while told=; wait $child; code=$?; [ "$told" ]; do :; done
# What it has left behind may hold its output open.
{ sleep 10; kill $tee; } 2>/dev/null &
wait $tee
exit $code
"""
"""Runs ``"$@"``. SIGTERM, which the cluster sends to this shell, reaches the command, and the exit status is
its own. The 10 s are our choice: the last lines are written at once, or by nobody."""

WATCHING = """\
export MIDDLEWATCH_STATE_DIR=/middlewatch/state
ending=
trap 'ending=1' TERM
middlewatch start
until [ -s /middlewatch/train.pid ] || [ "$ending" ]; do sleep 1; done
read -r pid </middlewatch/train.pid
set -- --name "$1" --log /middlewatch/output.log ${2:+--checkpoints "$2"}
middlewatch watch --pid "$pid" "$@" || middlewatch watch "$@"
until [ "$ending" ]; do sleep 1; done
# The training is over: time to notice it, and to send what there is to say.
tries=10
while [ $tries -gt 0 ] && middlewatch status "$2" --json | grep -q '"ended_at": *null'; do
    tries=`expr $tries - 1`
    sleep 2
done
sleep 10
middlewatch stop
"""
"""Watches the command of :data:`TRAINING` as the run ``$1`` with its saves in ``$2``, until SIGTERM says that it
is over; the times are those of :data:`SIDECAR_GRACE_S`."""

BOTH = """\
# The watch beside the training, in one container. SIGTERM is for the training.
sh -c "$1" sh "$2" "$3" >/dev/null 2>&1 &
watch=$!
training=$4
shift 4
sh -c "$training" sh "$@" &
child=$!
trap 'told=1; kill -TERM $child' TERM
while told=; wait $child; code=$?; [ "$told" ]; do :; done
kill -TERM $watch
wait $watch
exit $code
"""
""":data:`WATCHING` (``$1``, of ``$2`` and ``$3``) and :data:`TRAINING` (``$4``)."""


def training(words: Sequence[str]) -> dict[str, Any]:
    """Command and arguments of a container that runs ``words``."""
    return {"command": ["sh", "-c", TRAINING, "sh"], "args": list(words)}


def watching(name: str, saves: str) -> dict[str, Any]:
    """Those of the container beside it. ``saves``: the folder of its checkpoints, or empty."""
    return {"command": ["sh", "-c", WATCHING, "sh"], "args": [name, saves]}


def both(name: str, saves: str, words: Sequence[str]) -> dict[str, Any]:
    """Those of one container for both."""
    return {
        "command": ["sh", "-c", BOTH, "sh", WATCHING, name, saves, TRAINING],
        "args": list(words),
    }
