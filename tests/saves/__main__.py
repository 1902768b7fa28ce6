"""python -m tests.saves OUT [CASE ...]: makes the saves that the libraries of this Python can make.

Each case runs in a process of its own. One that was made before is left alone, so that several Pythons
(one with TensorFlow, one with PaddlePaddle) can fill the same folder, one after the other.
"""

import argparse
import concurrent.futures
import importlib.metadata
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

from .case import CASES, Run, load


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.saves", description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--here", action="store_true", help="in this process (one case)")
    parser.add_argument("-j", "--jobs", type=int, default=2)
    args = parser.parse_args()
    load()
    if args.here:
        return here(args.out, args.names[0])
    jobs = [n for n in (args.names or sorted(CASES)) if not (args.out / n / "truth.json").exists()]
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        failed = sum(not good for good in pool.map(lambda name: made(args.out, name), jobs))
    return 1 if failed else 0


def made(out: Path, name: str) -> bool:
    lacks = [n for n in CASES[name].needs if not installed(n)]
    if lacks:
        print(f"skipped  {name}: no {', '.join(lacks)}", flush=True)
        return True
    shutil.rmtree(out / name, ignore_errors=True)
    env = os.environ | {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", "HF_HUB_OFFLINE": "1"}
    env |= {"JAX_PLATFORMS": "cpu", "TF_CPP_MIN_LOG_LEVEL": "3", "WANDB_MODE": "disabled"}
    command = [sys.executable, "-m", "tests.saves", "--here", str(out.resolve()), name]
    (out / name).mkdir(parents=True)
    with (out / name / "log").open("wb") as log:
        try:
            rc = subprocess.run(command, env=env, stdout=log, stderr=log, timeout=300).returncode
        except subprocess.TimeoutExpired:
            rc = -1
    print(f"{'made' if rc == 0 else 'FAILED':8} {name}", flush=True)
    return rc == 0


def installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # its package is not there
        return False


def here(out: Path, name: str) -> int:
    run = Run(out / name)
    os.chdir(run.folder)
    CASES[name].make(run)
    versions: dict[str, str] = {}
    for need in CASES[name].needs:
        names = importlib.metadata.packages_distributions().get(need.split(".")[0], [])
        versions |= {n: importlib.metadata.version(n) for n in names[:1]}
    run.done(name, versions)
    return 0


sys.exit(main())
