"""Signatures of checkpoints that cannot be written, cannot be read, or do not fit.

Wordings: PyTorch (serialization, DCP, optim), safetensors, Hugging Face, Lightning, DeepSpeed,
Megatron-LM, TensorFlow and Keras, h5py, Flax and orbax.
"""

from __future__ import annotations

from .form import Signature

WHOLE = r"(?!: Weights only load failed\. This file can still be loaded)"
"""After ``UnpicklingError``: PyTorch did not load a file because of the classes in it, which is not damaged. Of one
that it cannot read it says something else (``_get_wo_message`` in torch/serialization.py)."""
CHECKPOINTS: tuple[Signature, ...] = (
    Signature(
        "ckpt-write",
        "ckpt_write_failed",
        r"PytorchStreamWriter failed"
        r"|unexpected pos \d+ vs \d+"
        r"|basic_ios::clear: iostream error"
        r"|write error: wrote \d+ (?:blocks|bytes) instead of \d+"
        r"|(?i:"
        r"(?:failed to|failed|unable to|error|error while|error when|could not|couldn't|cannot) (?:asynchronously )?(?:sav(?:e|ing)|writ(?:e|ing)|upload(?:ing)?) (?:the |a |an )?(?:model |async |training |final )?(?:checkpoint|ckpt)s?\b"
        r"|(?:exception|failure) (?:while|when|during|on|in) (?:sav|writ|upload)ing (?:the |a |an )?(?:model )?(?:checkpoint|ckpt)s?\b"
        r"|(?:checkpoint|ckpt)s? (?:could not|cannot|couldn.t) be (?:saved|written|uploaded)"
        r"|(?:checkpoint|ckpt) (?:save|write|upload|saving) failed)(?!.{0,60}(?:retry|trying again))"
        r"|SafetensorError.{0,60}I/O error"
        r"|Parent directory \S+ does not exist"
        r"|RuntimeError: File \S+ cannot be opened"
        r"|[Uu]nable to (?:synchronously )?(?:create|write|flush) (?:file|dataset|file's cached)"
        r"|Can't (?:synchronously )?write data"
        r"|[Uu]nable to (?:synchronously )?create group"
        r"|CheckpointException ranks"
        r"|Failed to rename: \S*ckpt"
        r"|Trying to save an outdated checkpoint at step"
        r"|StepAlreadyExistsError"
        r"|Some tensors share memory, this will lead to duplicate memory on disk"
        r"|saved contained shared tensors .{1,400} mismatching the transformers base configuration",
        narrow=("failed ", "unable to ", "could not ", "couldn't ", "cannot ", "error "),
        source="pytorch caffe2/serialize, torch/distributed/checkpoint, safetensors, h5py, flax errors.py, Torch7",
    ),
    Signature(
        "ckpt-unmonitored",
        "checkpoint_stale",
        r"[Cc]an save best model only with \S+ available",
        severity="warning",
        fatal=False,
        source="keras/src/callbacks/model_checkpoint.py",
    ),
    Signature(
        "ckpt-corrupt",
        "ckpt_corrupt",
        r"PytorchStreamReader failed"
        r"|failed reading zip archive"
        r"|failed finding central directory"
        r"|[Ii]nvalid header or archive is corrupted"
        r"|[Ii]nvalid magic number; corrupt file"
        r"|EOFError: Ran out of input"
        rf"|UnpicklingError{WHOLE}"
        r"|HeaderTooLarge"
        r"|HeaderTooSmall"
        r"|MetadataIncompleteBuffer"
        r"|InvalidHeader(?:Deserialization|Length)"
        r"|unexpected EOF(?:, expected \d+ more bytes|\. The file might be)"
        r"|(?:model|checkpoint|ckpt|weights?) file.{0,60}\bbad magic\b"
        r"|Unable to load weights from (?:pytorch|safetensors|TF|Flax) checkpoint"
        r"|Error while deserializing header"
        r"|incomplete metadata, file not fully covered"
        r"|Unable to open table file"
        r"|Checksum does not match: stored"
        r"|pickle data was truncated"
        r"|BadZipFile"
        r"|Bad CRC-32 for file"
        r"|storage has wrong (?:byte )?size"
        r"|truncated file: eof"
        r"|file signature not found"
        r"|bad object header version"
        r"|DataLossError(?!.*(?:(?:corrupted|truncated) record|IteratorGetNext))"
        r"|kMaxSupportedFileFormatVersion INTERNAL ASSERT"
        r"|Unpack failed: incomplete input"
        r"|(?i:"
        r"(?:checkpoint|ckpt)s? .{0,60}(?:is|are|appears?|seems?|may be|might be) (?:to be )?(?:corrupt|truncated|damaged|incomplete)"
        r"|\bcorrupt(?:ed)? (?:checkpoint|ckpt)\b(?!s?[ _](?:check|handling)|s? *[:=] *(?:0|none|false)))",
        source="pytorch torch/serialization.py, safetensors, h5py, tensorflow tensor_bundle, numpy and zipfile",
    ),
    Signature(
        "ckpt-mismatch",
        "ckpt_mismatch",
        r"Error\(s\) in loading state_dict"
        r"|loaded state dict (?:contains a parameter group that doesn't match"
        r"|has a different number of parameter groups)"
        r"|^(?:\w+: )?(?:Missing|Unexpected) key\(s\) in state_dict"
        r"|Key \S+ not found in checkpoint"
        r"|Tensor name \S+ not found in checkpoint"
        r"|KeyError: .unexpected key .{1,200} in state_dict"
        r"|While copying the parameter named"
        r"|ScopeParam(?:Shape|NotFound)Error"
        r"|expects \d+ weight\(s\), but the saved weights have"
        r"|Assign requires shapes of both tensors to match"
        r"|weight file containing \d+ layers into a model with \d+"
        r"|Layer count mismatch when loading weights"
        r"|(?i:checkpoint .{0,80}(?:shape|size)s? (?:mismatch|do(?:es)? not match))"
        r"|mismatch between the current graph and the graph from the checkpoint"
        r"|target dict keys and state dict keys do not match"
        r"|ensure that the architectures match"
        r"|but load set tensor with shape"
        r"|in the argument .net. should have the same shape as"
        r"|from saved params: shape incompatible"
        r"|is not present in ParameterDict"
        r"|Cannot copy param \d+ weights from layer"
        r"|Missing key in checkpoint state_dict"
        r"|[Ss]hape mismatch for loaded\b"
        r"|is not compatible with supplied shape"
        r"|Size mismatch between saved \S+ and current"
        r"|objects were not bound to checkpointed values"
        r"|Shape mismatch in layer #?\d+"
        r"|the assigned value shape .{1,60} (?:is|are) incompatible"
        r"|checkpoint contains only the model\b"
        r"|on-disk value metadata tree structures do not match"
        r"|is not compatible with the stored shape"
        r"|checkpoint being loaded used a (?:DP|TP|PP) world size of \d+ but"
        r"|value from checkpoint \(\S+\) is not equal to the input argument value"
        r"|variables, but received \d+ variables during loading",
        source="pytorch nn/modules/module.py, optim/optimizer.py; tensorflow saver.py; keras; orbax; deepspeed; megatron checkpointing.py",
    ),
    Signature(
        "ckpt-other-names",
        "ckpt_mismatch",
        r"_IncompatibleKeys\(missing_keys=\['(?:(?P<a>[\w.]+)'.*unexpected_keys=\['(?:\w+\.){1,3}(?P=a)'"
        r"|(?:\w+\.){1,3}?(?P<b>[\w.]+)'.*unexpected_keys=\['(?P=b)')",
        severity="warning",
        fatal=False,
        source="pytorch nn/modules/module.py, load_state_dict(strict=False): the same names behind a prefix",
    ),
    Signature(
        "ckpt-mismatch-key",
        "ckpt_mismatch",
        r"size mismatch for \S+: copying a param"
        r"|(?:Missing|Unexpected) key\(s\) in state_dict",
        role="confirmation",
        severity="info",
        fatal=False,
        source="pytorch nn/modules/module.py: also printed where a loader goes on without these keys (mmcv, timm)",
    ),
)
