"""The options of ``launch``: a job, and the place that executes it."""

from __future__ import annotations

from ..jobs.places import PLACES
from .parser import Add, json_option


def launching(add: Add) -> None:
    """Add the commands."""
    sub = add(
        "launch",
        "launch:launch",
        "start a job where it is to run: here, in docker, through Slurm, Kubernetes or Kaggle",
        "middlewatch launch job.toml --on slurm --print",
    )
    sub.add_argument(
        "job",
        nargs="?",
        metavar="JOB.toml",
        help="the job file; without one the command stands behind --, with one more words for its command",
    )
    sub.add_argument("--on", choices=PLACES, default="local", help="the place (default: local)")
    sub.add_argument(
        "--print",
        action="store_true",
        dest="shown",
        help="show what the place would be given, and start nothing",
    )
    sub.add_argument("--name", metavar="N", help="name of the run (default: MODEL-training-TIME)")
    sub.add_argument("--gpus", type=int, metavar="N", help="GPUs of each machine")
    sub.add_argument("--nodes", type=int, metavar="N", help="how many machines")
    sub.add_argument(
        "--hosts",
        metavar="A,B",
        help="with --on docker: the machines, as ssh knows them; the first is the master "
        "(NAME=ADDRESS where the others know it by another address)",
    )
    sub.add_argument(
        "--max-time",
        metavar="TIME",
        help="how long it may last, like 36h (default: 24h; 0: no limit)",
    )
    sub.add_argument(
        "--again", type=int, metavar="N", help="here: start it again by itself, at most N times"
    )
    sub.add_argument(
        "--force", action="store_true", help="start it even if it would fail by what is known"
    )
    after = sub.add_mutually_exclusive_group()
    after.add_argument(
        "--status",
        dest="asked",
        metavar="NAME",
        help="what the engine says of the launch of this name now; exit 1 if it failed",
    )
    after.add_argument(
        "--fetch",
        dest="fetched",
        metavar="NAME",
        help="bring what it printed and wrote here, from Kubernetes and Kaggle",
    )
    after.add_argument(
        "--stop",
        dest="stopped",
        metavar="NAME",
        help="end the launch of this name that an engine took, with its time to save; start nothing",
    )
    after.add_argument(
        "--remove",
        dest="removed",
        metavar="NAME",
        help="remove its containers, which are over: their log and exit status are saved first",
    )
    json_option(sub)
    sub.set_defaults(command=[])
