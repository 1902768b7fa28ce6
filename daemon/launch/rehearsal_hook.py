"""Makes a training short, inside its own Python: ``smoke`` copies this file as ``sitecustomize.py``.

It runs under the python of the training, whatever that is (3.8 and later), in every Python process
that the command starts, and imports nothing of middlewatch. When a framework is imported, its switches for a
short run are set: two steps, the CPU, no trackers, output below a temporary folder. Where a
program is its own framework, it is ended after two steps of an optimizer. What was done, and the
exception that ended the program, are appended as JSON lines to ``$MIDDLEWATCH_SMOKE_REPORT``.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.util
import json
import os
import sys
from collections.abc import Callable
from typing import Any

REPORT = os.environ.get("MIDDLEWATCH_SMOKE_REPORT", "")
OUT = os.environ.get("MIDDLEWATCH_SMOKE_OUT", "")
STEPS = int(os.environ.get("MIDDLEWATCH_SMOKE_STEPS", "2"))
MARK = "_middlewatch_few"
"""Attribute of a loader that an evaluation reads."""
SPECIAL_OPTIMIZERS = ("fused", "8bit", "bnb", "paged", "4bit", "apex", "galore", "npu", "xla")
"""Parts of the names of optimizers of transformers that need a GPU."""


class State:
    """What was seen in this process."""

    steps = 0
    bounded = False
    """A framework ends the run by itself after its steps."""
    bounded_by_lightning = False
    """Lightning has limits of its own for every kind of batch."""


def tell(event: str, **more: Any) -> None:
    """Append a line to the report; a program that is rehearsed must not notice a failure."""
    if not REPORT:
        return
    with contextlib.suppress(OSError, TypeError, ValueError):
        line = json.dumps({"event": event, "pid": os.getpid(), **more}) + "\n"
        fd = os.open(REPORT, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(fd, line.encode("utf-8", "replace"))
        finally:
            os.close(fd)


def changed(name: str, value: Any) -> None:
    """Tell that a setting of the program was replaced for the rehearsal."""
    tell("changed", name=name, value=str(value)[:200])


# ------------------------------------------------------------------------ torch


class Few:
    """The first batches of a loader; all else is asked of the iterator itself."""

    def __init__(self, inner: Any, most: int) -> None:
        self._inner = inner
        self._left = most

    def __iter__(self) -> Few:
        return self

    def __next__(self) -> Any:
        if self._left <= 0:
            raise StopIteration
        self._left -= 1
        return next(self._inner)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


def patch_loader(module: Any) -> None:
    """An evaluation reads the first batches only."""
    import torch

    real = module.DataLoader.__iter__

    @functools.wraps(real)
    def iterate(self: Any) -> Any:
        found = real(self)
        evaluates = getattr(self, MARK, False) or not torch.is_grad_enabled()
        if evaluates and not State.bounded_by_lightning:
            return Few(found, STEPS)
        return found

    module.DataLoader.__iter__ = iterate


def patch_optimizer(module: Any) -> None:
    """Count the steps, and end a program that does not end by itself."""

    def before(optimizer: Any, args: Any, kwargs: Any) -> None:
        if State.steps >= STEPS and not State.bounded:
            tell("ended", steps=State.steps)
            raise SystemExit(0)

    def after(optimizer: Any, args: Any, kwargs: Any) -> None:
        State.steps += 1
        tell("step", n=State.steps)

    # Since torch 2.1. Without it a program runs to its own end, or to that of its time.
    with contextlib.suppress(AttributeError):
        module.register_optimizer_step_pre_hook(before)
        module.register_optimizer_step_post_hook(after)
        tell("framework", name="torch")


def patch_distributed(module: Any) -> None:
    """A group of one process on the CPU."""
    real = module.init_process_group

    @functools.wraps(real)
    def begin(backend: Any = None, *args: Any, **kwargs: Any) -> Any:
        if backend is not None and "nccl" in str(backend):
            changed("backend of torch.distributed", "gloo")
            backend = "gloo"
        kwargs.pop("device_id", None)
        return real(backend, *args, **kwargs)

    module.init_process_group = begin


# ------------------------------------------------------------------------ frameworks


def _set(owner: Any, name: str, value: Any) -> None:
    if hasattr(owner, name) and getattr(owner, name) != value:
        setattr(owner, name, value)
        changed(name, value)


def patch_training_arguments(module: Any) -> None:
    """The Trainer of transformers: two steps, one evaluation, one save, on the CPU."""
    real = module.TrainingArguments.__post_init__

    @functools.wraps(real)
    def finish(self: Any) -> Any:
        tell("framework", name="transformers")
        State.bounded = True
        for name, value in (
            ("max_steps", STEPS),
            ("logging_steps", 1),
            ("gradient_accumulation_steps", 1),
            ("use_cpu", True),
            ("no_cuda", True),
            ("bf16", False),
            ("fp16", False),
            ("tf32", None),
            ("torch_compile", False),
            ("deepspeed", None),
            ("push_to_hub", False),
            ("report_to", "none"),
        ):
            _set(self, name, value)
        if getattr(self, "fsdp", None):
            _set(self, "fsdp", type(self.fsdp)())
        optimizer = str(getattr(getattr(self, "optim", ""), "value", getattr(self, "optim", "")))
        if any(word in optimizer for word in SPECIAL_OPTIMIZERS):
            _set(self, "optim", "adamw_torch")
        for kind in ("eval_strategy", "evaluation_strategy", "save_strategy"):
            told = getattr(self, kind, None)
            if told is not None and str(getattr(told, "value", told)) not in ("no", "best"):
                _set(self, kind, "steps")
        _set(self, "save_steps", STEPS)
        _set(self, "eval_steps", STEPS)
        if OUT:
            _set(self, "output_dir", f"{OUT}/output_dir")
            if getattr(self, "logging_dir", None):
                _set(self, "logging_dir", f"{OUT}/logging_dir")
        return real(self)

    module.TrainingArguments.__post_init__ = finish


def patch_trainer(module: Any) -> None:
    """Evaluation and prediction of the Trainer of transformers read the first batches only."""
    for name in ("get_eval_dataloader", "get_test_dataloader"):
        real = getattr(module.Trainer, name, None)
        if real is None:
            continue

        def get(self: Any, *args: Any, _real: Any = real, **kwargs: Any) -> Any:
            loader = _real(self, *args, **kwargs)
            for one in (loader, getattr(loader, "base_dataloader", None)):  # of accelerate
                with contextlib.suppress(AttributeError):
                    setattr(one, MARK, True)
            return loader

        setattr(module.Trainer, name, functools.wraps(real)(get))


def patch_lightning(module: Any) -> None:
    """The Trainer of Lightning: two batches of each kind, one epoch, on the CPU."""
    real = module.Trainer.__init__

    @functools.wraps(real)
    def begin(self: Any, *args: Any, **kwargs: Any) -> None:
        tell("framework", name="lightning")
        State.bounded = State.bounded_by_lightning = True
        wanted: dict[str, Any] = {
            "accelerator": "cpu",
            "devices": 1,
            "num_nodes": 1,
            "strategy": "auto",
            "precision": "32-true",
            "logger": _no_logger(module),
            "max_epochs": 1,
            "min_epochs": None,
            "max_steps": -1,
            "min_steps": None,
            "max_time": None,
            "limit_train_batches": STEPS,
            "limit_val_batches": STEPS,
            "limit_test_batches": STEPS,
            "limit_predict_batches": STEPS,
            "overfit_batches": 0.0,
            "val_check_interval": None,
            "check_val_every_n_epoch": 1,
            "num_sanity_val_steps": 1,
            "accumulate_grad_batches": 1,
            "log_every_n_steps": 1,
            "fast_dev_run": False,
            "profiler": None,
            "benchmark": None,
        }
        if OUT:
            wanted["default_root_dir"] = f"{OUT}/default_root_dir"
        for name, value in wanted.items():
            if name in kwargs and kwargs[name] != value:
                changed(name, "one that writes nothing" if name == "logger" else value)
        told = kwargs.get("callbacks") or []
        for one in told if isinstance(told, (list, tuple)) else [told]:
            if OUT and getattr(one, "dirpath", None) is not None:
                changed("dirpath of a callback", f"{OUT}/callbacks")
                one.dirpath = f"{OUT}/callbacks"
        real(self, *args, **{**kwargs, **wanted})

    module.Trainer.__init__ = begin


def _no_logger(module: Any) -> Any:
    """A logger that takes every call and writes nothing, as a dry run of Lightning has it."""
    package = module.__name__.partition(".trainer")[0]
    with contextlib.suppress(Exception):
        if package.startswith("pytorch"):
            from pytorch_lightning.loggers.logger import DummyLogger
        else:
            from lightning.pytorch.loggers.logger import DummyLogger
        return DummyLogger()
    return False


def patch_fabric(module: Any) -> None:
    """Fabric of Lightning, which LitGPT is written with: one process on the CPU."""
    real = module.Fabric.__init__

    @functools.wraps(real)
    def begin(self: Any, *args: Any, **kwargs: Any) -> None:
        tell("framework", name="fabric")
        wanted: dict[str, Any] = {"accelerator": "cpu", "devices": 1, "num_nodes": 1}
        wanted.update(strategy="auto", precision="32-true")
        kwargs.pop("plugins", None)
        for name, value in wanted.items():
            if name in kwargs and kwargs[name] != value:
                changed(name, value)
        names = ("accelerator", "strategy", "devices", "num_nodes", "precision", "plugins")
        given = dict(zip(names, args))  # noqa: B905 - Python 3.8 knows no other
        more = {k: v for k, v in given.items() if k not in wanted and k != "plugins"}
        real(self, **{**kwargs, **more, **wanted})

    module.Fabric.__init__ = begin


def patch_accelerator(module: Any) -> None:
    """Accelerate: one process on the CPU, whole precision, no trackers."""
    real = module.Accelerator.__init__

    @functools.wraps(real)
    def begin(self: Any, *args: Any, **kwargs: Any) -> None:
        tell("framework", name="accelerate")
        for name, value in (("mixed_precision", "no"), ("log_with", None), ("cpu", True)):
            if name in kwargs and kwargs[name] != value:
                changed(name, value)
            kwargs[name] = value
        for name in ("deepspeed_plugin", "fsdp_plugin", "megatron_lm_plugin"):
            if kwargs.pop(name, None) is not None:
                changed(name, None)
        real(self, *args, **kwargs)

    module.Accelerator.__init__ = begin


HOOKS: dict[str, Callable[[Any], None]] = {
    "torch.utils.data.dataloader": patch_loader,
    "torch.optim.optimizer": patch_optimizer,
    "torch.distributed.distributed_c10d": patch_distributed,
    "transformers.training_args": patch_training_arguments,
    "transformers.trainer": patch_trainer,
    "lightning.pytorch.trainer.trainer": patch_lightning,
    "pytorch_lightning.trainer.trainer": patch_lightning,
    "lightning.fabric.fabric": patch_fabric,
    "lightning_fabric.fabric": patch_fabric,
    "accelerate.accelerator": patch_accelerator,
}
"""Module -> what is changed in it as soon as it has been imported."""


class Finder:
    """Stands before all other finders and patches a module after it was executed."""

    def __init__(self) -> None:
        self._busy: set[str] = set()

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """The real spec, whose module is patched once it was executed."""
        if name not in HOOKS or name in self._busy:
            return None
        self._busy.add(name)
        try:
            spec = importlib.util.find_spec(name)
        except (ImportError, ValueError):
            return None
        finally:
            self._busy.discard(name)
        if spec is None or spec.loader is None:
            return None
        loader, patch = spec.loader, HOOKS[name]
        real = loader.exec_module

        def execute(module: Any) -> None:
            real(module)
            try:
                patch(module)
            except Exception as error:  # noqa: BLE001 - another version: said, and left as it is
                tell("unpatched", module=name, error=repr(error)[:200])

        with contextlib.suppress(AttributeError):
            setattr(loader, "exec_module", execute)  # noqa: B010
        return spec


# ------------------------------------------------------------------------ the end


def watch_exceptions() -> None:
    """Tell the exception that ends the program, and the last line of its own code in it."""
    real = sys.excepthook

    def hook(kind: Any, error: Any, trace: Any) -> None:
        frames = []
        here = trace
        while here is not None:
            code = here.tb_frame.f_code
            frames.append((code.co_filename, here.tb_lineno, code.co_name))
            here = here.tb_next
        tell(
            "exception",
            type=getattr(kind, "__qualname__", str(kind)),
            module=getattr(kind, "__module__", ""),
            bases=[one.__name__ for one in getattr(kind, "__mro__", ())],
            message=str(error)[:2000],
            frames=frames[-60:],
        )
        real(kind, error, trace)

    sys.excepthook = hook


def next_sitecustomize() -> None:
    """The file of that name that this one stands before runs as well."""
    here = os.path.dirname(os.path.realpath(__file__))
    kept = sys.path[:]
    mine = sys.modules.pop("sitecustomize", None)
    sys.path[:] = [p for p in sys.path if os.path.realpath(p or ".") != here]
    try:
        with contextlib.suppress(ImportError):
            import sitecustomize  # noqa: F401
    finally:
        sys.path[:] = kept
        if mine is not None:
            sys.modules["sitecustomize"] = mine


if REPORT and __name__ == "sitecustomize":
    sys.meta_path.insert(0, Finder())
    watch_exceptions()
    tell("python", version=sys.version.split()[0], argv=[str(w)[:200] for w in sys.argv[:4]])
    next_sitecustomize()
