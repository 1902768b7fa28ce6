"""The script that runs in a session of Kaggle: it puts the files there, starts the command, ends it in time."""

from __future__ import annotations

import ast
import pprint
from collections.abc import Mapping, Sequence

CLOSING_S = 10
"""Seconds for the last output after the end of the command, where something that it started still holds it
open. Our choice."""

_BODY = '''\
import json, os, shutil, signal, subprocess, sys, threading
from pathlib import Path


def secrets():
    """Values that are attached to the kernel as secrets."""
    if not SECRETS:
        return {}
    from kaggle_secrets import UserSecretsClient

    return {name: UserSecretsClient().get_secret(name) for name in SECRETS}


def put_files():
    for name, text in FILES.items():
        path = Path(WORKING, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("utf-8", "surrogateescape"))


def take_earlier_saves():
    """The saves of an earlier session, where the command looks for them."""
    target = Path(WORKING, CHECKPOINTS)
    for kernel in EARLIER if CHECKPOINTS else ():
        slug = kernel.split("/")[1]
        for depth in ("", "*/", "*/*/"):  # Kaggle has put its inputs at several depths
            for found in Path(INPUT).glob(f"{depth}{slug}/{CHECKPOINTS}"):
                if not target.exists():
                    print(f"saves of {kernel}: {found} -> {target}", flush=True)
                    shutil.copytree(found, target)


def follow(pipe, log):
    while data := os.read(pipe.fileno(), 65536):
        log.write(data)
        log.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


def send(process, number):
    try:
        os.killpg(process.pid, number)
    except ProcessLookupError:
        pass


def main():
    put_files()
    take_earlier_saves()
    environment = {**os.environ, "PYTHONUNBUFFERED": "1", **ENV, **secrets()}
    with open(Path(WORKING, "output.log"), "ab") as log:
        process = subprocess.Popen(
            COMMAND, cwd=WORKING, env=environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
        )
        reader = threading.Thread(target=follow, args=(process.stdout, log), daemon=True)
        reader.start()
        in_time = True
        try:
            process.wait(RUN_S)
        except subprocess.TimeoutExpired:
            in_time = False
            print(f"the session is nearly over: SIGTERM, {SAVE_S} s to save", flush=True)
            send(process, signal.SIGTERM)
            try:
                process.wait(SAVE_S)
            except subprocess.TimeoutExpired:
                send(process, signal.SIGKILL)
                process.wait()
        reader.join(CLOSING_S)
    code = process.returncode
    end = {"exit_code": code if code >= 0 else None, "signal": -code if code < 0 else None}
    Path(WORKING, "exit.json").write_text(json.dumps({**end, "session_over": not in_time}) + "\\n")
    print(f"the command ended: {end}", flush=True)
    # The kernel itself ends well in any case, so that what was written is kept; how the command ended
    # is in exit.json.


main()
'''


def runner(
    *,
    name: str,
    command: Sequence[str],
    env: Mapping[str, str],
    secrets: Sequence[str],
    run_s: int,
    save_s: int,
    checkpoints: str,
    earlier: Sequence[str],
    files: Mapping[str, str],
) -> str:
    """The script. ``run_s``: seconds until SIGTERM, ``save_s`` later the rest is killed. ``checkpoints``: the
    folder, below that of the command. ``earlier``: kernels whose output is input. ``files``: name -> text."""
    texts = "".join(f"    {name!r}: {literal(text)},\n" for name, text in files.items())
    return f"""\
# {name}: what Kaggle runs, written by middlewatch launch. Change what you like, then: kaggle kernels push -p .
COMMAND = {_list(command)}
ENV = {_list(dict(env))}
SECRETS = {_list(secrets)}  # names of secrets that are attached to the kernel
RUN_S = {run_s}  # seconds until SIGTERM
SAVE_S = {save_s}  # seconds to save, then SIGKILL
CLOSING_S = {CLOSING_S}  # seconds for the last lines of the output
CHECKPOINTS = {checkpoints!r}
EARLIER = {_list(earlier)}  # kernels whose saves the command goes on from
WORKING, INPUT = "/kaggle/working", "/kaggle/input"
FILES = {{
{texts}}}

{_BODY}"""


def literal(text: str) -> str:
    """The text as Python source that a person can read: as it is where that is possible."""
    plain = f"r'''{text}'''"
    if all(character.isprintable() or character in "\n\t" for character in text):
        try:
            if ast.literal_eval(plain) == text:
                return plain
        except (SyntaxError, ValueError):
            pass
    return repr(text)


def _list(value: object) -> str:
    whole = list(value) if isinstance(value, (tuple, list)) else value
    return pprint.pformat(whole, width=100, sort_dicts=False)
