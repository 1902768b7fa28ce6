"""The watch in a pod: a container beside the training, or a part of its own container.

The training never depends on the watch: it runs, is ended and gives its exit status also where
``middlewatch`` does not start. The shell is that of POSIX, as small images have it.
"""

from __future__ import annotations

import shlex

FOLDER = "/middlewatch"
"""A volume of the pod, seen by both containers at the same place: log, process id, state of the watch."""
LAST_LINES_S = 10
"""Seconds for the last lines to be written when the command has ended, and something that it started still
holds its output open. Our choice: they are written at once, or by nobody."""
NOTICED_S = 20
"""Longest wait of the watch, after the end of the training, for its own verdict; it judges once a second."""
SENT_S = 10
"""Seconds for the pushes about it: a service answers within one or two. Our choice."""
SIDECAR_GRACE_S = NOTICED_S + SENT_S
"""What the pod gives the container that watches, when the training has ended."""
CPUS, MEMORY = "250m", "256Mi"
"""Of the container that watches; our choice: several times of what a daemon with one run was seen to use,
since a verification reads whole checkpoints."""


def training(watch: str = "") -> str:
    """The script that runs ``"$@"`` with its output in the log of the container and in a file.

    SIGTERM, which the cluster sends to this shell, reaches the command, and the exit status is that of the
    command. ``watch``: the script of :func:`watching`, where it runs in this container too.
    """
    begin = f"watch() {{\n{watch}}}\nwatch >/dev/null 2>&1 &\nwatch=$!\n" if watch else ""
    end = "kill -TERM $watch\nwait $watch\n" if watch else ""
    return f"""\
mkfifo {FOLDER}/output.pipe || exec "$@"
{begin}tee -a {FOLDER}/output.log <{FOLDER}/output.pipe &
tee=$!
"$@" >{FOLDER}/output.pipe 2>&1 &
child=$!
echo $child >{FOLDER}/train.pid
trap 'told=1; kill -TERM $child' TERM
while told=; wait $child; code=$?; [ "$told" ]; do :; done
{{ sleep {LAST_LINES_S}; kill $tee; }} 2>/dev/null &
wait $tee
{end}exit $code
"""


def watching(name: str, checkpoints: str, index: str = "") -> str:
    """The script that watches the command of :func:`training`, until SIGTERM says that it is over.

    ``index``: the variable with the number of the pod, where there are several.
    """
    run = shlex.quote(name) + (f'-"${index}"' if index else "")
    named = f"--name {run}"
    log = f"--log {FOLDER}/output.log"
    saves = f" --checkpoints {shlex.quote(checkpoints)}" if checkpoints.startswith("/") else ""
    return f"""\
export MIDDLEWATCH_STATE_DIR={FOLDER}/state
ending=
trap 'ending=1' TERM
middlewatch start
until [ -s {FOLDER}/train.pid ] || [ "$ending" ]; do sleep 1; done
read -r pid <{FOLDER}/train.pid
middlewatch watch {named} --pid "$pid" {log}{saves} || middlewatch watch {named} {log}{saves}
until [ "$ending" ]; do sleep 1; done
# The training is over: time to notice it, and to send what there is to say.
tries={NOTICED_S // 2}
while [ $tries -gt 0 ] && middlewatch status {run} --json | grep -q '"ended_at": *null'; do
    tries=`expr $tries - 1`
    sleep 2
done
sleep {SENT_S}
middlewatch stop
"""
