"""What the names of files and folders say about checkpoints. No file is opened here.

The resident process decides by names alone what to follow. What a file really is, the verifier
finds out from its first bytes (:mod:`.recognise`).
"""

from __future__ import annotations

import functools
import re
from collections.abc import Collection
from typing import Literal, NamedTuple

Kind = Literal["dcp", "deepspeed", "hf", "folder"]
"""Kind of a folder that is one checkpoint: of torch.distributed.checkpoint, a DeepSpeed tag, of the
Hugging Face Trainer, or any other folder with weights in it (LitGPT, Accelerate, Megatron)."""

WEIGHTS = (".pt", ".pth", ".ckpt", ".safetensors", ".pth.tar", ".pt.tar")
"""Files with these endings hold tensors, whatever they are called."""
MODELS = (
    *(".pdparams", ".pdopt", ".gguf", ".onnx", ".tflite", ".eqx", ".nemo", ".pt2", ".keras"),
    *(".cbm", ".cbsnapshot", ".ubj", ".joblib", ".msgpack"),
)
"""Files with these endings are models or their optimizers in other formats than torch's."""
OF_TRAININGS = (
    *(".ckpt", ".keras", ".pdparams", ".pdopt", ".nemo"),
    *(".cbm", ".cbsnapshot", ".ubj"),
)
"""Endings that only the savers of training libraries give: a new file of this kind is a save, whatever the
rest of its name is."""
_OTHER_STATES = (".npz", ".h5", ".hdf5", ".pkl", ".pickle", ".tar", ".zip")
"""Files with these endings hold a checkpoint only if the rest of the name says so."""
INDEXES = (".safetensors.index.json", ".bin.index.json")
TENSORFLOW = ".index"
"""The table of a TensorFlow checkpoint, beside files ``NAME.data-00000-of-00002``."""
TENSORFLOW_DATA = re.compile(r"^(?P<stem>.+)\.data-\d{5}-of-\d{5}$")
MARKS = frozenset(
    {
        *("saved_model.pb", "_CHECKPOINT_METADATA", "_METADATA", "manifest.ocdbt"),
        *("zarr.json", ".zarray"),
    }
)
"""Names that formats of several files give to the file that describes the others: TensorFlow's
SavedModel, Orbax, OCDBT, zarr. The folder of such a file is one checkpoint, or a part of one."""
_MODEL_FOLDERS = (
    frozenset({"meta.json", "config.cfg", "vocab"}),  # spaCy
    frozenset({"adapter_config.json", "adapter_model.safetensors"}),  # PEFT
    frozenset({"adapter_config.json", "adapter_model.bin"}),
)
"""Names that lie together in a folder that is one model, whatever it is called."""
DESCRIBES = MARKS | {"config.cfg"}
"""Files that say that a folder, which counts as a checkpoint, has a model in it."""
COMPANIONS = re.compile(
    r"^(?:optimizer|scheduler|scaler|training_args|sampler|random_states|rng_state)\b.*"
    r"|^rng_state_\d+\.pth$|^random_states_\d+\.pkl$",
)
"""Files that are parts of a checkpoint and never one by themselves."""

_LEFTOVER = re.compile(
    r"\.(?:tmp|temp|partial|part|incomplete|inprogress|writing)(?:[-_.]\w+|\d+)?$"
    r"|^[._]?(?:tmp|temp)[-_.]"  # tmp-checkpoint-500
    r"|^tmp\w{8}$"  # the names of Python's tempfile
    r"|^\..+\.\w{6}$"  # rsync
    r"|[-_](?:tmp|partial|incomplete)$"
    r"|-checkpoint-tmp-\d+$"  # Orbax
    r"|~$",
    re.IGNORECASE,
)
_SHARD = re.compile(r"^(?P<stem>.*?)-?(?P<part>\d{5})-of-(?P<of>\d{5})(?P<end>\..+)$")
_SPEAKS_OF_STATE = re.compile(
    r"model|ckpt|checkpoint|weights|state|adapter|snapshot|step|epoch|iter|(?:^|[-_.])ema",
    re.IGNORECASE,
)
_BARE = re.compile(r"^(?:checkpoint|ckpt)[-_]\d+$", re.IGNORECASE)
"""Flax before Orbax: ``checkpoint_1000``, without an ending."""
_TEXTS = (".json", ".txt", ".model", ".bst", ".bin", ".pkl", ".pickle", ".npz", TENSORFLOW)
_TEXT_OF_STEP = re.compile(r"\.(?:txt|model|json)\.\w+_\d+$")
_OWN_ENDING = re.compile(
    r"\.\w*(?:model|ckpt|checkpoint|weights|state|snapshot)\w*$", re.IGNORECASE
)
"""An ending that a program has made up for its saves: ``.cleanrl_model``."""
_ENDING = re.compile(r"\.([A-Za-z]\w{0,11})$")
_KNOWN_ENDINGS = frozenset(
    [
        *("py", "pyc", "sh", "c", "cc", "cpp", "cu", "h", "ipynb", "js", "css", "html", "so"),
        *("txt", "log", "out", "err", "md", "rst", "csv", "tsv", "json", "jsonl", "yaml", "yml", "toml", "ini", "cfg", "xml"),
        *("png", "jpg", "jpeg", "gif", "svg", "pdf", "bmp", "wav", "mp3", "flac", "mp4", "avi", "npy", "parquet", "arrow"),
        *("gz", "xz", "bz2", "zst", "tmp", "lock", "pid", "sock", "sqlite", "db", "h5", "hdf5", "tfrecord", "lmdb", "mdb"),
    ]
)  # fmt: skip
"""Endings of what is no save, or is told by its name. Of a save with another one its first bytes decide."""
_COMPILED = re.compile(
    r"(?:^|[-_.])(?:torch)?(?:inductor|_?compile)|^triton(?:$|[-_.])", re.IGNORECASE
)
_DATA = re.compile(
    r"(?:train|val|test|raw|my)?[-_.]?data(?:[-_.]?sets?)?|(?:\w+[-_.])?caches?"
    r"|features?|embeddings?|latents|activations|tokenized|preprocessed|processed|samples",
    re.IGNORECASE,
)
_NAMED_AS_SAVE = re.compile(
    r"(?:^|[-_.])(?:best|last|latest|final|resume)(?:$|[-_.\d])", re.IGNORECASE
)
_DEEPSPEED_PART = re.compile(r"(?:mp_rank_\d+|layer_\d+.*)_?-?model_states\.pt$|_optim_states\.pt$")
OF_TRAINER = frozenset({"trainer_state.json", "training_args.bin", "optimizer.pt", "scheduler.pt"})
"""What the Trainer of Hugging Face writes, under these names: all of them after the model."""
_TRAINERS_MODEL = re.compile(r"^(?:pytorch_|adapter_)?model[-._]")
_HF_FOLDER = re.compile(r"^checkpoint-\d+$")
_STEP_FOLDER = re.compile(
    r"^(?:(?:global[-_]?)?step|iter|iteration|ckpt|checkpoint|epoch|model|save|state|snapshot|adapter)s?"
    r"[-_=]?\d+|step[-_=]?\d+|^\d+$|\.ckpt$",
    re.IGNORECASE,
)

_STEP_WORD = re.compile(r"(?<![a-z])(?:step|iter|epoch)[a-z]*[-_=]?(\d+)", re.IGNORECASE)
"""In the name of a file; ``model_2.safetensors`` is the second model of one save."""

_END = r"(?![a-z\d]|\.\d)"
_DATE = re.compile(
    r"(?<!\d)20\d\d[-_][01]\d[-_][0-3]\d(?:[-_T]\d\d[-:_]?\d\d(?:[-:_]?\d\d)?)?"
    r"|(?<![a-z\d])20\d{6}[-_T]\d{4,6}",
    re.IGNORECASE,
)
_STEPS = (
    # MindSpore: net-1_100.ckpt is step 100 of epoch 1
    re.compile(r"(?<=[a-z\d]-)\d+_(\d+)()(?=\.[a-z]+$)", re.IGNORECASE),
    re.compile(
        r"(?<![a-z\d.])(\d+)(k|m)?[-_]?(?:steps|iters|iterations)(?![a-z\d])", re.IGNORECASE
    ),
    re.compile(rf"(?<![a-z])(?:global[-_]?)?steps?[-_=]?(\d+)(k|m)?{_END}", re.IGNORECASE),
    re.compile(rf"(?<![a-z])iter(?:ation)?s?[-_=]?(\d+)(k|m)?{_END}", re.IGNORECASE),
    re.compile(rf"(?<![a-z])ep\d+-ba(\d+)(){_END}"),  # Composer: epoch and batch
    re.compile(
        rf"(?<![a-z])(?:checkpoint|ckpt|chkpt|model|weights|state|snapshot|save|net|adapter)[-_.=]?(\d+)(k)?{_END}",
        re.IGNORECASE,
    ),
    re.compile(r"^(\d+)()(?:\.[a-z]+)?$", re.IGNORECASE),
    re.compile(r"[-_](\d{3,})()(?:\.[a-z]+)?$", re.IGNORECASE),
)
_EPOCHS = (
    re.compile(r"epochs?[-_=]?(\d+(?:\.\d+)?)", re.IGNORECASE),
    re.compile(r"(?<![a-z])ep[-_=]?(\d+)(?![a-z\d])", re.IGNORECASE),
)
_METRIC = re.compile(r"(?<![a-z])([a-z][a-z_/]*?)=(\d+(?:\.\d+)?(?:e-?\d+)?)", re.IGNORECASE)
RATINGS = frozenset({"train_loss", "eval_loss", "accuracy"})
"""Our names of the metrics that rate a checkpoint; the learning rate, say, does not."""
_MAY_RATE = re.compile(r"loss|acc|top-?1", re.IGNORECASE)
"""Quick test before the grammar of metrics: a checkpoint may hold ten thousand other names."""
_SCALE = {"": 1.0, "k": 1e3, "m": 1e6}


class Shard(NamedTuple):
    """``model-00002-of-00003.safetensors`` taken apart."""

    stem: str
    part: int
    of: int
    end: str


@functools.lru_cache(maxsize=1024)
def is_leftover(name: str) -> bool:
    """Whether a name is temporary: the writer renames such a file when it is whole."""
    return _LEFTOVER.search(name) is not None


def is_leftover_checkpoint(name: str) -> bool:
    """Whether it is the temporary name of a checkpoint, and not that of an editor's file, say."""
    return is_leftover(name) and (name.startswith("tmp") or bool(_SPEAKS_OF_STATE.search(name)))


@functools.lru_cache(maxsize=1024)
def shard(name: str) -> Shard | None:
    """The parts of the name of a numbered shard; ``None`` for any other name."""
    found = _SHARD.match(name)
    if found is None:
        return None
    return Shard(found["stem"], int(found["part"]), int(found["of"]), found["end"])


def is_weights(name: str) -> bool:
    """Whether a file holds tensors, and has to be whole for its checkpoint to be whole."""
    if name.endswith((*WEIGHTS, *MODELS)) or TENSORFLOW_DATA.match(name):
        return True
    return name.endswith(".bin") and _SPEAKS_OF_STATE.search(name) is not None


def is_checkpoint_file(name: str) -> bool:
    """Whether a file is a checkpoint by itself, or the index of a sharded one."""
    if is_leftover(name) or COMPANIONS.match(name) or _DEEPSPEED_PART.search(name):
        return False
    if name.endswith(INDEXES):
        return True
    if shard(name) is not None or TENSORFLOW_DATA.match(name):
        return False
    if is_weights(name) or _BARE.match(name):
        return True
    return name.endswith(_OTHER_STATES) and says_save(name)


def may_be_checkpoint(name: str) -> bool:
    """Whether only its first bytes can say if a file is a checkpoint: ``booster-10.json``.

    A number or a word of a save is in it; a trainer's notes have neither. A zip archive may have any name, as that
    of Stable-Baselines: ``ppo_cartpole.zip``.
    """
    if is_leftover(name) or COMPANIONS.match(name):
        return False
    if name.endswith(".zip") or _OWN_ENDING.search(name):
        return True
    ending = _ENDING.search(name)
    if ending is not None and ending[1].lower() not in _KNOWN_ENDINGS and says_save(name):
        return True
    if not (name.endswith(_TEXTS) or _TEXT_OF_STEP.search(name)):
        return False
    return says_save(name) or any(map(str.isdigit, name))


def is_compiled(name: str) -> bool:
    """Whether a folder is the cache of a compiler, which holds files called ``.pt`` too."""
    return _COMPILED.search(name) is not None


def is_data(name: str) -> bool:
    """Whether a folder holds training data or what was computed from it, often as tensors.

    A file in there counts as a checkpoint only if its own name says so.
    """
    return _DATA.fullmatch(name) is not None


def says_save(name: str) -> bool:
    """Whether a name is that of a saved state: ``step_100``, ``best.pt``, not ``part_7.pt``."""
    return bool(_SPEAKS_OF_STATE.search(name) or _NAMED_AS_SAVE.search(name))


def called_best(path: str) -> bool:
    """Whether a trainer keeps its best save under this name: ``model_best.pth.tar``."""
    return "best" in path.rpartition("/")[2].lower()


def folder_kind(name: str, files: Collection[str], folders: Collection[str]) -> Kind | None:
    """What kind of checkpoint a folder is; ``None`` for one that is none or holds several.

    ``files`` and ``folders``: the names right inside it. A folder with numbered checkpoints inside
    is never one itself, although the Trainer writes ``trainer_state.json`` and a last model into
    its output folder too.
    """
    if ".metadata" in files or any(f.endswith(".distcp") for f in files):
        return "dcp"
    if _HF_FOLDER.match(name):
        # Accelerate and PaddleNLP call their folders so, and who writes a loop of his own. The Trainer writes
        # training_args.bin before its optimizer.
        first = {"trainer_state.json", "training_args.bin"} & set(files)
        others = not first and (OF_TRAINER & set(files) or _by_others(files, folders))
        return "folder" if others else "hf"
    if any(_DEEPSPEED_PART.search(f) for f in files):
        return "deepspeed"
    if MARKS & set(files):
        return "folder"
    if any(_STEP_FOLDER.search(f) for f in folders):
        return "folder" if name.endswith(".ckpt") else None
    if "trainer_state.json" in files and any(is_weights(f) for f in files):
        return "hf"
    return "folder" if _STEP_FOLDER.search(name) and not _several(files) else None


def _by_others(files: Collection[str], folders: Collection[str]) -> bool:
    """Whether something lies in a folder ``checkpoint-500`` that the Trainer never writes."""
    if any(not _STEP_FOLDER.search(folder) for folder in folders):
        return True
    companions = (f for f in files if COMPANIONS.match(f))
    if any(f.endswith((".bin", ".pkl")) for f in companions):
        return True
    return any(
        is_weights(f) and not _TRAINERS_MODEL.match(f) for f in files if not COMPANIONS.match(f)
    )


def is_one_save(files: Collection[str], folders: Collection[str], *, watched: bool) -> bool:
    """Whether a folder of any name is one checkpoint by what lies in it: weights, and parts that are never a
    checkpoint by themselves. In a watched folder, which may hold much else, two such parts have to lie."""
    if not watched and any(one <= {*files, *folders} for one in _MODEL_FOLDERS):
        return not any(_STEP_FOLDER.search(f) for f in folders)
    companions = sum(bool(COMPANIONS.match(f)) for f in files)
    if companions < (2 if watched else 1) or any(_STEP_FOLDER.search(f) for f in folders):
        return False
    return any(is_weights(f) and not COMPANIONS.match(f) for f in files) and not _several(files)


def series(path: str) -> str:
    """A path with ``#`` for every number."""
    return re.sub(r"\d+", "#", path)


def _several(files: Collection[str]) -> bool:
    """Whether saves of several steps lie in it: ``model1/step-100.pt`` and ``step-200.pt``."""
    steps = {found[1] for name in files if is_weights(name) and (found := _STEP_WORD.search(name))}
    return len(steps) > 1


def index_stem(path: str) -> str | None:
    """``…/model`` for ``…/model.safetensors.index.json``: the beginning of each shard's path."""
    return next((path[: -len(end)] for end in INDEXES if path.endswith(end)), None)


def has_family(path: str) -> bool:
    """Whether a file may be a checkpoint together with others beside it, see :func:`in_family`."""
    return path.endswith((*INDEXES, TENSORFLOW, ".onnx"))


def in_family(path: str, base: str) -> bool:
    """Whether a file of the same folder, called ``base``, belongs to the checkpoint ``path``: its
    shards, the data of a TensorFlow index, the data that ONNX keeps outside."""
    family = family_of(path.rpartition("/")[2])
    return family is not None and family in member_of(base)


def family_of(name: str) -> str | None:
    """A word for all files of the checkpoint ``name`` that has several; ``None`` for one of a single file."""
    stem = index_stem(name)
    if stem is not None:
        return f"shards {stem.rstrip('-_.')}"
    if name.endswith(TENSORFLOW):
        return f"tensorflow {name[: -len(TENSORFLOW)]}"
    return f"onnx {name}" if name.endswith(".onnx") else None


def member_of(base: str) -> tuple[str, ...]:
    """The families that a file belongs to by its name; the file that describes them is not meant."""
    part = shard(base)
    if part is not None:
        return (f"shards {part.stem.rstrip('-_.')}",)
    found = TENSORFLOW_DATA.match(base)
    if found is not None:
        return (f"tensorflow {found['stem']}",)
    if base.endswith(".meta"):
        return (f"tensorflow {base.removesuffix('.meta')}",)
    if base.endswith((".onnx.data", ".onnx_data")):
        return (f"onnx {base[: -len('.data')]}",)
    return ()


def step_of(name: str) -> float | None:
    """The training step in a name: ``step_4200``, ``epoch=3-step=4000.ckpt``, ``ckpt-10k``."""
    name = _DATE.sub("", name)
    if shard(name):
        return None
    for position, pattern in enumerate(_STEPS):
        if position >= len(_STEPS) - 2 and epoch_of(name) is not None:
            return None  # a bare number beside an epoch is that epoch
        found = pattern.search(name)
        if found:
            return _finite(float(found[1]) * _SCALE[(found[2] or "").lower()])
    return None


def epoch_of(name: str) -> float | None:
    """The epoch in a name: ``epoch=3-step=4000``, ``checkpoint_epoch_7.pth``."""
    for pattern in _EPOCHS:
        found = pattern.search(name)
        if found:
            return _finite(float(found[1]))
    return None


def metrics_of(name: str) -> dict[str, float]:
    """Metrics that Lightning and others write into the name: ``epoch=3-val_loss=0.25.ckpt``."""
    found: dict[str, float] = {}
    for key, value in _METRIC.findall(name):
        ours = metric_name(key)
        if ours is not None:
            found.setdefault(ours, float(value))
    return found


def metric_name(name: str) -> str | None:
    """Our name of a loss or an accuracy, the same as in logs; ``None`` for anything else.

    The loss on any set that is not trained on is ``eval_loss``, that on a test set too.
    """
    if len(name) > 100 or not _MAY_RATE.search(name):
        return None
    from middlewatch.sentinels.kit.metric_keys import canonical, fold  # takes 7 ms, rarely needed

    found = canonical(fold(name))
    return found if found in RATINGS else None


def _finite(number: float) -> float | None:
    """The number, unless it is too large for a step (a name of three hundred digits)."""
    return number if number < 1e15 else None
