"""The first step for errors whose message says what to do, whoever wrote the program.

A row is a pattern on the message and what a good engineer does first; ``{name}`` is what the pattern found. The
messages are those of PyTorch, NumPy, Transformers, TensorFlow, scikit-learn, XGBoost and Python itself; what follows
from them is in their documentation, or plain.
"""

from __future__ import annotations

import re

from ..config.secrets import mask

_SHAPE = r"(?:torch\.Size\()?[\[(](?P<{0}>[\d, ]{{1,60}})[\])]"

_ROWS: tuple[tuple[str, str], ...] = (
    # -- what was saved does not fit the model ------------------------------------------------
    (
        r"size mismatch for (?P<name>[\w.]{1,120}): copying a param with shape "
        + _SHAPE.format("saved")
        + r"\)? from checkpoint,? the shape in current model is "
        + _SHAPE.format("now"),
        ("{name} has the shape [{saved}] in the save and [{now}] in this model: build the model as it was saved (number of "
        "classes, size of the vocabulary, width), or load all but that layer and train it anew"),
    ),
    (
        r"shape of the target variable and the shape of the target value .{0,80}(?:expects|variable\.shape=)\D{0,3}"
        + _SHAPE.format("now")
        + r".{0,60}?(?:received|Received|value\.shape=|shape)\D{0,40}?"
        + _SHAPE.format("saved"),
        ("a layer has the shape ({saved}) in the save and ({now}) in this model: build the model as it was saved (number of "
        "classes, width), or load it with skip_mismatch=True and train that layer anew"),
    ),
    (
        r"objects could not be loaded|shape of the target variable and the shape of the target value",
        ("compare the shapes that the message names: build the model as it was saved (number of classes, width), or load it "
        "with skip_mismatch=True and train that layer anew"),
    ),
    (
        r"(?:Missing|Unexpected) key\(s\) in state_dict: \W{0,3}module\.",
        "the save has the prefix `module.` of DataParallel or DDP: take it off the keys, or load into the wrapped model",
    ),
    (
        r"Weights only load failed|weights_only.{0,40}(?:default|True)",
        ("the save holds more than tensors: if you trust its source, load it with `torch.load(..., weights_only=False)`, or "
        "allow the classes that it names (`torch.serialization.add_safe_globals`)"),
    ),
    # -- data -----------------------------------------------------------------------------------
    (
        (r"image file is truncated|cannot identify image file|(?i:unknown) image file format|broken data stream when reading image"
        r"|Invalid (?:JPEG|PNG) data|Premature end of JPEG|Error decoding (?:image|audio)|Not a (?:JPEG|PNG) file|"
        r"(?:Format not recognised|Error opening .{0,200}: (?:System error|File contains data in an unknown format))"),
        ("open every file of the data set once and let it decode (`PIL.Image.open(path).load()` for pictures), to find those "
        "that cannot be read; copy them again or take them out"),
    ),
    (
        (r"num_samples should be a positive integer value, but got num_samples=0|Found 0 (?:images|files|samples)|"
        r"found no (?:images|files|data)|Found no valid file|Caught .{0,40}empty dataset|No objects to concatenate"),
        "the data set is empty: print the folder that it reads and how many files it finds there, before the filter and after it",
    ),
    (
        r"stack expects each tensor to be equal size, but got \[(?P<a>[\d, ]{1,40})\] at entry \d+ and \[(?P<b>[\d, ]{1,40})\]",
        "samples of one batch have the sizes [{a}] and [{b}]: resize or crop them alike, pad them in a collate_fn, or take out the odd one",
    ),
    (
        (r"expected sequence of length \d+ at dim \d+ \(got \d+\)|Unable to create tensor, you should probably activate truncation"),
        ("samples of one batch have different lengths: pad them as they are put together (`DataCollatorWithPadding`, or give the "
        "Trainer its `processing_class`), in the evaluation set as well"),
    ),
    (
        r"Found indices in 'edge_index' that are larger than (?P<most>\d+) \(got (?P<got>\d+)\)",
        ("edges name node {got}, but there are rows for 0 to {most} only: map the ids to rows before the edges are built, drop edges to "
        "unknown nodes, and check `edge_index.max() < x.size(0)`"),
    ),
    (
        r"you must first build vocabulary|corpus is empty|[Ee]mpty vocabulary",
        ("the corpus gave no words: print the first sentences after the tokeniser, and repair what it throws away (another alphabet, a wrong "
        "encoding, an empty file)"),
    ),
    (
        (r"label must be in [\[(]0, ?1[\])]|label and prediction size not match|Target (?P<odd>-?\d+) is out of bounds|"
        r"Assertion `?\(?t(?:arget)? >= 0 && t(?:arget)? < n_classes|Assertion `?cur_target >= 0|"
        r"Received a label value of|label value .{0,40}outside the valid range|y contains previously unseen labels|"
        r"(?:Invalid classes inferred|Expected: \[0 1)"),
        ("labels lie outside of what the model has: count the values of the labels in the data that was added last "
        "(`numpy.unique(labels, return_counts=True)`), and compare with its number of classes; 255 or -1 often means `ignore_index`"),
    ),
    (
        (r"index out of range in self|Assertion `?srcIndex < srcSelectDimSize|vectorized gather kernel index out of bounds|"
        r"indices\[[\d, ]+\] = (?P<index>\d+) is not in \[0, (?P<rows>\d+)\)"),
        ("an index is larger than its embedding has rows: compare the largest token with `model.config.vocab_size`; after tokens were "
        "added, `model.resize_token_embeddings(len(tokenizer))`; positions past the longest sequence do the same"),
    ),
    (
        r"could not convert string to float: '?(?P<word>[^'\n]{1,40})'?",
        "a column that is no number has come in: find it by {word!r} in the data, and convert or drop that column",
    ),
    (
        r"Input (?:X|y)? ?contains (?:NaN|infinity)|array must not contain infs or NaNs|contains NaN, infinity",
        "count the empty cells of each column (`df.isna().sum()`), and fill or drop them before the model",
    ),
    (
        r"JSONDecodeError|Expecting (?:value|property name|',' delimiter).{0,40}line (?P<line>\d+) column|Extra data: line|Unterminated string",
        "the file is no whole JSON: look at where it breaks (`python -m json.tool FILE`); an empty or cut-off file has to be copied again",
    ),
    (
        r"UnicodeDecodeError|codec can't decode byte",
        "read the file in its own encoding (`file -i FILE`; `open(..., encoding=...)`), or replace what cannot be read (`errors='replace'`)",
    ),
    (
        r"Error tokenizing data\. C error: Expected (?P<want>\d+) fields in line (?P<line>\d+), saw (?P<saw>\d+)",
        "line {line} of the table has {saw} fields where {want} are expected: look at it (`sed -n {line}p FILE`), for a separator in a text or a row that was cut off",
    ),
    (
        r"Unable to allocate (?P<size>[\d.]+ [KMGT]iB) for an array with shape (?P<shape>\([\d, ]+\)) and data type (?P<type>\w+)",
        "do not make this array of {size} (shape {shape}, {type}) in one piece: keep it sparse, cut it into parts, use a smaller type, or read it with numpy.memmap",
    ),
    (
        r"\bKeyError: '(?P<key>[\w. -]{1,60})'",
        "print which keys are there at that line, and find the rows, the columns or the settings without '{key}': spelled differently, renamed by a newer version, or missing in a part of the data",
    ),
    # -- shapes, types and devices ---------------------------------------------------------------
    (
        r"mat1 and mat2 shapes cannot be multiplied \((?P<a>\d+x\d+) and (?P<b>\d+x\d+)\)",
        "a linear layer gets {a} and has {b}: set its in_features to what the layer before it gives for this input size",
    ),
    (
        (r"size of tensor a \((?P<a>\d+)\) must match the size of tensor b \((?P<b>\d+)\)|Sizes of tensors must match except in dimension"
        r"|operands could not be broadcast together with shapes (?P<c>\([\d,]*\) \([\d,]*\))|[Ii]ncompatible shapes"),
        "print both shapes right before this line; usual reasons: the last, smaller batch (`drop_last=True`), another picture size or sequence length",
    ),
    (
        r"Expected all tensors to be on the same device|Input type \(torch\.\w*\.?\w+\) and weight type|is on cpu, but expected .{0,20}cuda",
        "move the model and the batch to the same device: `.to(device)` for what this line was given, also for tensors that it makes itself",
    ),
    (
        r"expected scalar type \w+ but found \w+|mat1 and mat2 must have the same dtype|expected m1 and m2 to have the same dtype|should be the same dtype",
        "give both the same type: run it under autocast, or cast what this line was given (`.to(model.dtype)`)",
    ),
    (
        r"does not require grad and does not have a grad_fn",
        "nothing that is trained reached the loss: look for `requires_grad=False` on all parameters, `no_grad`, `.detach()` or `.item()` before it",
    ),
    (
        r"Trying to backward through the graph a second time",
        "something of the step before is still in the loss: detach what is carried from step to step (hidden states, running sums)",
    ),
    (
        r"modified by an inplace operation",
        "find which operation it is with `torch.autograd.set_detect_anomaly(True)`, and replace the one that writes in place",
    ),
    (
        r"Expected to have finished reduction in the prior iteration|find_unused_parameters",
        "a part of the model got no gradient in this step: `find_unused_parameters=True`, or do not build what is not used",
    ),
    (
        r"padding token|does not have a padding|Asking to pad but the tokenizer",
        "give the tokenizer a padding token: `tokenizer.pad_token = tokenizer.eos_token`",
    ),
    (
        r"OOM when allocating tensor with shape\[?(?P<shape>[\d,]+)|ran out of memory trying to allocate (?P<size>[\d.]+ ?[KMGT]?i?B)",
        ("make a step smaller: half the batch, a smaller input, mixed precision, or accumulate gradients; "
        "see with `nvidia-smi` that no other process has a part of the memory"),
    ),
    # -- versions and installations ----------------------------------------------------------------
    (
        r"operator torchvision::\w+ does not exist|torchvision.{0,80}(?:undefined symbol|Couldn't load custom C\+\+ ops)",
        ("torchvision was built for another torch: install the two that belong together, from the same index "
        "(`python -m pip show torch torchvision`), and try `python -c 'import torchvision'`"),
    ),
    (
        r"numpy\.(?:dtype|ndarray) size changed|compiled using NumPy 1|_ARRAY_API not found|undefined symbol|GLIBC(?:XX)?_[\d.]+' not found",
        "a compiled package does not fit the others here: `python -m pip check`, and install it again for these versions (it is the one that the last frames name)",
    ),
    (
        r"cannot import name '(?P<name>\w{1,80})' from '(?P<module>[\w.]{1,80})'",
        "{module} of this version has no {name}: see which one is installed and which one the program wants (`python -m pip show` its package), and install that",
    ),
    (
        r"got an unexpected keyword argument '(?P<name>\w{1,80})'",
        ("`{name}` is not known to the installed version: see which one it is (`python -m pip show` its package), and install the one the "
        "program was written for, or leave the argument out or rename it"),
    ),
    (
        r"module '(?P<module>[\w.]{1,80})' has no attribute '(?P<name>\w{1,80})'",
        ("{module} of this version has no {name}: install the version the program was written for, or use what has replaced it; a file "
        "of your own with the same name hides it as well"),
    ),
    (
        r"Library not loaded: (?:@rpath/)?(?P<name>[\w./+-]{1,200})",
        "install the library {name}, which is not on this machine (macOS: `brew install libomp` for OpenMP), and start again",
    ),
    (
        r"(?P<name>lib[\w.+-]{1,80}\.so[.\d]{0,12}): cannot open shared object file",
        "install the package that has {name} (`apt-file search {name}`, or the module of the cluster), or name its folder in LD_LIBRARY_PATH; start again",
    ),
    (
        r"DLL load failed while importing (?P<name>\w{1,80})",
        "a library that {name} needs is not on this Windows machine: install the Visual C++ Redistributable, and {name} again for this Python",
    ),
    # -- several processes ---------------------------------------------------------------------------
    (
        r"Duplicate GPU detected",
        ("two ranks have taken the same GPU: choose it by LOCAL_RANK (`torch.cuda.set_device(local_rank)` before the process group); "
        "under srun that is SLURM_LOCALID, and each task must see all GPUs of its node"),
    ),
    (
        r"[Rr]eceived data size doesn't match expected size|collective mismatch|Detected mismatch between collectives",
        ("the ranks called different collectives: usually one has fewer batches than the others. Give each the same number (even "
        "shards, `drop_last=True`, or DDP's Join), and look for a branch that only one rank takes"),
    ),
    # -- the hub and logins -----------------------------------------------------------------------
    (
        r"outgoing traffic has been disabled|OfflineModeIsEnabled",
        ("compare the path of the model or data set with what is on this disk, letter by letter (`ls -ld PATH`): it is not there, and the hub is "
        "switched off (HF_HUB_OFFLINE); copy it back, or fetch it once with the hub on"),
    ),
    (
        r"gated repo|Access to model .{1,120} is restricted|awaiting a review|401 Client Error|Repository Not Found for url",
        "log in with an account that may read it (`hf auth login`, or HF_TOKEN), accept its terms on its page, and compare the name letter by letter",
    ),
    (
        r"Connection refused|actively refused|ECONNREFUSED",
        ("nothing listens there: start the server that the program talks to (a tracker, a database, a scheduler), or correct its address in the "
        "program's settings (MLFLOW_TRACKING_URI, WANDB_BASE_URL, MASTER_ADDR); see `ss -ltn` on that machine"),
    ),
    (
        r"WinError 1455|paging file is too small|[Ff]ile di paging|Auslagerungsdatei|fichier de pagination|archivo de paginaci",
        ("start fewer loader workers (`num_workers=0` to 2: each loads all libraries again), or make the paging file of Windows larger "
        "(System, Advanced, Performance, Virtual memory)"),
    ),
)  # fmt: skip
_PATTERNS = tuple((re.compile(pattern), step) for pattern, step in _ROWS)


_LOOKS = ("print", "compare", "count", "find", "open", "look", "line")
"""First words of steps that change nothing."""


def is_safe(step: str) -> bool:
    """Whether a step of this table only looks."""
    return step.split(" ", 1)[0] in _LOOKS


def known_step(text: str) -> str:
    """The first step for this message; empty when none is known for it. What it quotes of it has no secrets."""
    text = mask(text)
    for pattern, step in _PATTERNS:
        if found := pattern.search(text):
            return step.format(**found.groupdict())
    return ""
