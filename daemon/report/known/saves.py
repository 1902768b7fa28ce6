"""Messages about saves that cannot be loaded, or do not fit."""

from __future__ import annotations

_SHAPE = r"(?:torch\.Size\()?[\[(](?P<{0}>[\d, ]{{1,60}})[\])]"

ROWS: tuple[tuple[str, str], ...] = (
    (
        r"Requested shape: \((?P<now>[\d, ]{1,40})\) is not compatible with the stored shape: \((?P<saved>[\d, ]{1,40})\)",
        "the save holds ({saved}) where this model has ({now}): build the model as it was saved (its widths stand in the settings of that run), or begin in a new, empty folder",
    ),
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
        (r"PytorchStreamReader failed|failed finding central directory|invalid magic number; corrupt file|unpickling stack underflow"
        r"|pickle data was truncated|WeightsUnpickler error: \s*Unsupported operand|EOFError: Ran out of input|MetadataIncompleteBuffer|incomplete metadata, file not fully covered"),
        ("look at the size of the file beside the saves before it (`ls -l`): it was not written to its end. Go on from the newest one that "
        "loads (`middlewatch verify DIR`), and see whether the disk was full or the job was killed while it saved"),
    ),
    (
        r"Weights only load failed|weights_only.{0,40}(?:default|True)",
        ("the save holds more than tensors: if you trust its source, load it with `torch.load(..., weights_only=False)`, or "
        "allow the classes that it names (`torch.serialization.add_safe_globals`)"),
    ),
    (
        r"invalid load key, '(?:v|<|\\x0a)'|HeaderTooLarge|InvalidHeaderDeserialization|header too large",
        ("look at the first bytes of the file (`head -c 200 FILE`): `version https://git-lfs` means that only the pointer was "
        "fetched (`git lfs pull`), `<html` that a web page was saved instead; otherwise the file is cut off: copy it again"),
    ),
    (
        r"file is not a database|[Uu]nable to (?:synchronously )?open (?:file|object).{0,200}(?:truncated|signature not found|not found)",
        "look at the size of the file and at its first bytes (`ls -l FILE; head -c 8 FILE | xxd`): it is cut off, or of another format than its name says",
    ),
    (
        r"contains a parameter group that doesn't match the size of optimizer's group|has a different number of parameter groups",
        ("compare what is trained now with what was trained then (layers that are frozen, parameter groups, another optimizer): build the "
        "optimizer over the same parameters, or load the weights only and begin with a fresh optimizer"),
    ),
    (
        r"Attempting to deserialize object on (?:a )?CUDA device",
        ("see whether this process has a GPU (`nvidia-smi -L`, CUDA_VISIBLE_DEVICES); if it is to run without the one it was saved on, load it with "
        "`torch.load(..., map_location=device)`"),
    ),
    (
        r"No valid checkpoint found in output directory|Can't find a valid checkpoint at|[Cc]heckpoint (?:at|file|path)?.{0,200}(?:not found|does not exist|doesn't exist)",
        "list what is in the folder of the saves (`ls -la DIR`): the name is another one, or nothing was saved yet; then name the right one, or start without resuming",
    ),
    (
        r"does not appear to have a file named (?P<name>[\w-]{1,80}(?:\.\w{1,20}){0,4})",
        "list the folder (`ls -la DIR`): {name} is not in it. It was saved in another form (adapter, shards, `save_pretrained` not called), or the copy is not complete",
    ),
    (
        r"no file named .{0,120}(?:model|weights|config|tokenizer)",
        "list the folder (`ls -la DIR`): the weights are not in it. They were saved in another form (adapter, shards), or the copy is not complete",
    ),
    (
        r"used a DP world size of (?P<then>\d+) but the current world size is (?P<now>\d+)",
        "start it with {then} ranks as it was saved (now: {now}), or convert the save to DeepSpeed's universal form (`ds_to_universal.py`)",
    ),
    (
        r"Can't get attribute '(?P<name>\w{1,80})' on <module '(?P<module>[\w.]{1,80})'",
        "the save needs the class {name} of the module {module}: define or import it there before loading, and save a `state_dict` instead of the whole object next time",
    ),
    (
        r"No module named 'numpy\._core'",
        "the save was written with NumPy 2 and is read with NumPy 1: `python -m pip show numpy`, and install numpy 2 here, or write it again with numpy 1",
    ),
    (
        r"(?:Missing|Unexpected) key\(s\) in state_dict",
        ("compare the names of the layers in the save with those of the model (`torch.load(FILE, map_location='cpu').keys()`): another version of "
        "the code, another size, or a wrapper's prefix; `strict=False` only once you know what is left out"),
    ),
    (
        r"Layer .{1,120} expects \d+ variables?, but received \d+|Unknown layer: '?(?:\w{1,80})|Could not locate class '(?:\w{1,80})'",
        "build the model by the same code as when it was saved, and load the weights into it; name classes of your own in `custom_objects`",
    ),
    (
        r"`?filepath`? provided must end in",
        "give the file the ending that the message names: Keras 3 decides by it in which form it saves",
    ),
)  # fmt: skip
