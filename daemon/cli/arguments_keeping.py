"""The commands about what is kept: checkpoints that may go, copies of them; and what a shell keeps."""

from __future__ import annotations

from .parser import Add, json_option


def keeping(add: Add) -> None:
    """Add these commands."""
    sub = add(
        "completion",
        "completion:completion",
        "print what completes commands, options and names of runs in a shell",
        "middlewatch completion bash > ~/.local/share/bash-completion/completions/middlewatch",
    )
    sub.add_argument(
        "shell", choices=("bash", "zsh", "tcsh", "runs"), help="which shell; or the runs"
    )
    sub = add(
        "prune",
        "prune:prune",
        "propose which checkpoints may be deleted; --apply deletes them",
        "middlewatch prune --dir out --keep-latest 2 --every 5000",
    )
    sub.add_argument("run", nargs="?", help="id or name; default: the newest living run")
    sub.add_argument("--dir", metavar="DIR", help="a folder of checkpoints instead of a run")
    sub.add_argument(
        "--keep-latest",
        type=int,
        default=3,
        metavar="N",
        help="keep the N newest verified checkpoints of every series (default: 3)",
    )
    sub.add_argument(
        "--keep-best",
        type=int,
        default=1,
        metavar="K",
        help="keep the K best verified checkpoints (default: 1)",
    )
    sub.add_argument(
        "--every",
        type=float,
        default=0.0,
        metavar="M",
        help="keep the first verified checkpoint of every series at or after every M-th step",
    )
    sub.add_argument("--damaged", action="store_true", help="propose damaged checkpoints too")
    sub.add_argument("--apply", action="store_true", help="delete what is proposed, after asking")
    sub.add_argument("--yes", action="store_true", help="with --apply: do not ask")
    json_option(sub)
    sub = add(
        "mirror",
        "mirror:mirror",
        "copy verified checkpoints to a destination and read the copies back",
        "middlewatch mirror gpt --to /mnt/durable",
    )
    sub.add_argument("run", nargs="?", help="id or name; default: the newest living run")
    sub.add_argument("--dir", metavar="DIR", help="a folder of checkpoints instead of a run")
    sub.add_argument(
        "--to",
        metavar="DEST",
        help="a folder, user@host:path (rsync) or remote:path (rclone); "
        "default: `to` under [mirror] in the configuration",
    )
    sub.add_argument("--best-only", action="store_true", help="copy the best checkpoint only")
    sub.add_argument("--check", action="store_true", help="read back older copies too")
    sub.add_argument("--limit", metavar="SIZE", help="most bytes per second, like 20MiB")
    json_option(sub)
