"""Signatures of the training program itself: numerics, checkpoints, start-up, network, trackers.

Wordings: PyTorch, TensorFlow, fairseq, DeepSpeed, apex, Megatron-LM, safetensors, h5py,
huggingface_hub, requests, W&B, argparse, environment modules.
"""

from __future__ import annotations

from .signature import Signature

RUN: tuple[Signature, ...] = (
    Signature(
        "loss-nan",
        "loss_nan",
        r"(?i:\bloss(?: value)? (?:is|was|became|turned|has become)\s+(?:nan|not finite|non-?finite)\b|\bnan loss\b(?! (?:filter|check))|loss is nan|non-?finite loss"
        r"|\bloss became infinite or nan|loss returned .{0,40} is nan or inf|invalid loss, terminating training|\bloss nan (?:detected|encountered)|nan or infinite loss)"
        r"|Model diverged with loss = NaN|NanLossDuringTraining|found NaN in (?:local )?(?:forward )?loss",
        ("loss is", "loss was", "loss became", "loss turned", "loss has", "loss value", "nan loss", "finite loss", "with loss = nan", "nanlossduring", "found nan in",
         "loss returned", "invalid loss", "loss nan ", "infinite loss"),
        ("Loss is nan, stopping training", "ERROR:tensorflow:Model diverged with loss = NaN.", "Rank 3: found NaN in local forward loss calculation"),
        ("loss: nan, time 3", "check_nan_loss = True", "number of nan iterations:   0", "nan loss filter: on"),
    ),
    Signature(
        "loss-inf",
        "loss_inf",
        r"(?i:\bloss(?: value)? (?:is|was|became|turned|has become) (?:-?inf|infinite)\b)",
        ("loss is", "loss was", "loss became", "loss turned", "loss has", "loss value"),
        ("Loss is inf, stopping training",),
        ("loss is information about the fit",),
    ),
    Signature(
        "nan-values",
        "loss_nan",
        r"Function '\w+' returned nan values in its \d+th output|NaN or Inf found in input tensor",
        ("returned nan values", "nan or inf found"),
        ("RuntimeError: Function 'LogBackward0' returned nan values in its 0th output.", "WARNING:root:NaN or Inf found in input tensor."),
        ("Function 'f' returned no values",),
        role="confirmation",
        severity="warning",
        fatal=False,
    ),
    Signature(
        "grad-nonfinite",
        "grad_nonfinite",
        r"(?i:grad(?:ient)?s?(?: norm)? (?:are|is|contains?|norm is|has|became) (?:nan|inf\b|non-?finite)|(?:found|detected) (?:nan|inf)(?:/(?:nan|inf))? .{0,20}grad|gradients are Nan/Inf|norm of order .{0,40} for (?:the )?gradients .{0,40} is non-finite|non-?finite grad)",
        ("grad",),
        ("FloatingPointError: gradients are Nan/Inf", "RuntimeError: The total norm of order 2.0 for gradients from `parameters` is non-finite, so it cannot be clipped."),
        ("gradients are clipped to norm 1.0", "gradient checkpointing is on"),
        severity="warning",
        fatal=False,
    ),
    Signature(
        "overflow-skip",
        "overflow_skip",
        r"(?i:overflow!.{0,60}skipping step)(?:.{0,40}reducing to (?P<scale>[\d.e+-]+))?|[Gg]radient overflow\.?\s+[Ss]kipping step(?:.{0,60}loss scale to (?P<scale_apex>[\d.e+-]+))?"
        r"|overflow detected, (?:setting loss scale to|ignoring gradient)(?:: (?P<scale_fs>[\d.e+-]+))?|Overflow detected\. [Ss]kipping step",
        ("overflow",),
        (
            "[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536, reducing to 32768",
            "Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 16384.0",
            "NOTE: overflow detected, setting loss scale to: 64.0",
        ),
        ("RuntimeError: stack overflow", "buffer overflow check: off"),
        severity="info",
        fatal=False,
    ),
    Signature(
        "loss-scale-exhausted",
        "loss_scale_exhausted",
        r"Current loss scale already at minimum|Minimum loss scale reached|(?i:reached (?:the )?min(?:imum)? loss[ _]scale)",
        ("loss scale already at minimum", "minimum loss scale reached", "reached"),
        ("Exception: Current loss scale already at minimum - cannot decrease scale anymore. Exiting run.", "FloatingPointError: Minimum loss scale reached (0.0001)."),
        ("minimum loss scale: 1.0",),
    ),
    Signature(
        "ckpt-write",
        "ckpt_write_failed",
        r"PytorchStreamWriter failed|unexpected pos \d+ vs \d+|basic_ios::clear: iostream error|write error: wrote \d+ (?:blocks|bytes) instead of \d+"
        r"|(?i:(?:failed|unable|error|could ?n[o']t) (?:to )?(?:while )?(?:when )?(?:sav(?:e|ing)|writ(?:e|ing)) (?:the |a |model )?checkpoint)(?!.{0,60}retry)"
        r"|SafetensorError.{0,60}I/O error|Parent directory \S+ does not exist|RuntimeError: File \S+ cannot be opened|[Uu]nable to (?:synchronously )?(?:create|write|flush) (?:file|dataset|file's cached)|Can't (?:synchronously )?write data|Unable to create group|CheckpointException ranks|Failed to rename: \S*ckpt",
        ("pytorchstreamwriter", "unexpected pos", "iostream error", "write error", "checkpoint", "safetensorerror", "parent directory", "cannot be opened", "unable to", "write data", "failed to rename"),
        (
            "RuntimeError: [enforce fail at inline_container.cc:595] . PytorchStreamWriter failed writing file data/3: file write failed",
            "RuntimeError: [enforce fail at inline_container.cc:672] . unexpected pos 640 vs 534",
            "RuntimeError: Parent directory /data/out does not exist.",
            "Failed to save checkpoint: disk unreachable",
        ),
        ("Saving checkpoint to out/ckpt.pt", "checkpoint saved", "unable to create symlink latest"),
    ),
    Signature(
        "ckpt-corrupt",
        "ckpt_corrupt",
        r"PytorchStreamReader failed|failed reading zip archive|failed finding central directory|invalid header or archive is corrupted|EOFError: Ran out of input|UnpicklingError|HeaderTooLarge|HeaderTooSmall|MetadataIncompleteBuffer|InvalidHeaderDeserialization"
        r"|unexpected EOF, expected \d+ more bytes|Unable to load weights from (?:pytorch|safetensors) checkpoint|Error while deserializing header|Unable to open table file|Checksum does not match: stored|pickle data was truncated|BadZipFile|storage has wrong (?:byte )?size|truncated file: eof|file signature not found|DataLossError|(?i:checkpoint .{0,60}(?:is|appears|seems) (?:to be )?(?:corrupt|truncated|damaged))",
        ("pytorchstreamreader", "reading zip archive", "central directory", "archive is corrupted", "ran out of input", "unpicklingerror", "headertoo", "metadataincomplete", "invalidheader",
         "unexpected eof", "badzipfile", "wrong size", "wrong byte size", "truncated", "signature not found", "datalosserror", "checkpoint", "deserializing header", "table file", "checksum does not"),
        (
            "RuntimeError: PytorchStreamReader failed reading zip archive: failed finding central directory",
            "safetensors_rust.SafetensorError: Error while deserializing header: HeaderTooLarge",
            "EOFError: Ran out of input",
            "RuntimeError: unexpected EOF, expected 12345 more bytes. The file might be corrupted.",
        ),
        ("loading checkpoint out/ckpt.pt", "sequence truncated to 512 tokens", "corrupt images skipped: 3"),
    ),
    Signature(
        "ckpt-mismatch",
        "ckpt_mismatch",
        r"Error\(s\) in loading state_dict|(?:Missing|Unexpected) key\(s\) in state_dict|size mismatch for \S+: copying a param|loaded state dict (?:contains a parameter group that doesn't match|has a different number of parameter groups)"
        r"|Key \S+ not found in checkpoint|Tensor name \S+ not found in checkpoint|unexpected key .{1,200} in state_dict|While copying the parameter named|ScopeParamShapeError|(?i:incompatible with the checkpoint)|Assign requires shapes of both tensors to match|weight file containing \d+ layers into a model with \d+|checkpoint .{0,80}(?:shape|size) .{0,40}(?:mismatch|does not match)",
        ("state_dict", "size mismatch for", "loaded state dict", "not found in checkpoint", "assign requires", "weight file containing", "checkpoint", "copying the parameter", "scopeparamshape"),
        (
            "RuntimeError: Error(s) in loading state_dict for GPT:",
            "\tsize mismatch for lm_head.weight: copying a param with shape torch.Size([5, 4]) from checkpoint, the shape in current model is torch.Size([6, 4]).",
        ),
        ("Token mismatch detected!", "Some weights of the model checkpoint were not used when initializing GPT"),
    ),
    Signature(
        "launch-python",
        "launch_error",
        r"(?:^|\s)(?:ModuleNotFoundError|ImportError): |\.py: error: |^\S*python[\d.]*: No module named |can't open file '[^']*': \[Errno 2\]|(?:^|\s)(?:SyntaxError|IndentationError|TabError): ",
        ("no module named", "modulenotfounderror", "importerror", ".py: error", "can't open file", "syntaxerror", "indentationerror", "taberror"),
        ("ModuleNotFoundError: No module named 'flash_attn'", "train.py: error: unrecognized arguments: --batchsize 4", "python: can't open file '/w/trian.py': [Errno 2] No such file or directory"),
        ("importing modules", "optional dependency missing: apex"),
    ),
    Signature(
        "launch-shell",
        "launch_error",
        r"^(?:\S+: )?(?:line \d+: )?(?:[\w./-]+|\$'\\r'): [Cc]ommand not found|^\S*(?:bash|sh): (?:line \d+: )?\S+: (?:No such file or directory|Permission denied)|slurm_script: line \d+: .{1,120}: (?:No such file|command not found)|^(?:sbatch|srun): (?:error: )?(?:Batch job submission failed|Unable to create step|error: invalid)|Unable to locate a modulefile|^CommandNotFoundError"
        r"|Lmod has detected the following error|ModuleCmd_Load\.c\(\d+\):ERROR|EnvironmentNameNotFound|Could not find conda environment|execve\(\): \S+: No such file|error while loading shared libraries",
        ("command not found", "no such file", "permission denied", "lmod has detected", "modulecmd_load", "environmentnamenotfound", "conda environment", "loading shared libraries", "submission failed", "create step", "locate a modulefile", "commandnotfounderror"),
        ("bash: torchrun: command not found", "Lmod has detected the following error: The following module(s) are unknown:", "bash: ./run.sh: Permission denied"),
        ("warning: file not found: cache, building", "WARNING: No such file or directory: cache.bin, creating"),
        severity="warning",
        fatal=False,
    ),
    Signature(
        "network",
        "network_error",
        r"(?:requests|urllib3|httpx|aiohttp|httpcore)\.\w*\.?\w*(?:ConnectionError|ReadTimeout|ConnectTimeout|ChunkedEncodingError|ProxyError|SSLError|HTTPError|MaxRetryError|ReadTimeoutError|ProtocolError|NameResolutionError|NewConnectionError|ConnectError|ClientConnectorError|ClientOSError|RemoteProtocolError): "
        r"|huggingface_hub\.\S*(?:HfHubHTTPError|LocalEntryNotFoundError|RepositoryNotFoundError|GatedRepoError|OfflineModeIsEnabled|HTTPError)|(?:OSError|ConnectionError): (?:We )?[Cc]ouldn't (?:connect to|reach) |urllib\.error\.(?:URLError|HTTPError)"
        r"|socket\.gaierror|^(?:\w+\.)*ConnectionError: |^(?:\w+\.)*(?:HfHubHTTPError|RemoteDisconnected|IncompleteRead|ReadTimeout|ConnectTimeout)\b|^ssl\.SSL\w*Error|unable to access 'https?:|^curl: \((?:5|6|7|28|35|56)\)|Could not resolve host|unable to resolve host address|Failed to connect to \S+ port \d+|^OSError: You are trying to access a gated repo",
        ("requests.", "urllib", "httpx", "aiohttp", "httpcore", "huggingface_hub", "connectionerror", "couldn't", "gaierror", "hfhubhttperror", "remotedisconnected", "incompleteread", "readtimeout", "connecttimeout", "ssl.ssl", "resolve host", "failed to connect",
         "unable to access", "curl: (", "gated repo"),
        (
            "requests.exceptions.ReadTimeout: HTTPSConnectionPool(host='hub.example', port=443): Read timed out. (read timeout=10)",
            "OSError: We couldn't connect to 'https://hub.example' to load this file",
            "huggingface_hub.utils._errors.LocalEntryNotFoundError: cannot find the file on disk",
        ),
        ("requests per second: 12", "wandb: Network error (ConnectionError), entering retry loop.", "Connection established"),
    ),
    Signature(
        "connection-lost",
        "network_error",
        r"^(?:\w+\.)*Connection(?:Reset|Refused|Aborted)Error: |^(?:socket\.timeout|TimeoutError): (?:The read operation )?[Tt]imed out",
        ("connectionreseterror", "connectionrefusederror", "connectionabortederror", "socket.timeout", "timeouterror"),
        ("ConnectionResetError: [Errno 104] Connection reset by peer",),
        ("TimeoutError: worker did not answer",),
        role="cascade",
        severity="warning",
    ),
    Signature(
        "network-retry",
        "network_error",
        r"Max retries exceeded with url|Temporary failure in name resolution|Name or service not known|Read timed out\.|Retrying in \d+s? \[Retry",
        ("max retries exceeded", "failure in name resolution", "service not known", "read timed out", "retrying in"),
        ("'(MaxRetryError(\"HTTPSConnectionPool(host='hub.example', port=443): Max retries exceeded with url: /a\"))' thrown while requesting HEAD",),
        ("max_retries: 5",),
        role="confirmation",
        severity="info",
        fatal=False,
    ),
    Signature(
        "tracker-network",
        "tracker_network_error",
        r"host='api\.wandb\.ai'|Communication with Neptune (?:failed|restored)|wandb: ERROR (?:Error while calling W&B API|.{0,60}timed out)|wandb: (?:(?:ERROR|WARNING) )?.{0,40}(?:Network error (?!resolved)|CommError|[Ee]rror communicating with (?:wandb|backend))|wandb(?:\.\w+)*\.CommError|Network error \(\w+\), entering retry loop|mlflow\.exceptions\.MlflowException: API request",
        ("network error (", "commerror", "api.wandb.ai", "with neptune", "wandb: error", "communicating with", "mlflowexception"),
        ("wandb: Network error (ReadTimeout), entering retry loop.", "wandb.errors.CommError: Run initialization has timed out"),
        ("wandb: Network error resolved after 0:00:12, resuming normal operation.",),
        severity="warning",
        fatal=False,
    ),
    Signature(
        "tracker-write",
        "tracker_write_failed",
        r"Could not open events file|events_writer\.cc:\d+\] (?:Write failed|Failed to flush)|wandb: ERROR .{0,80}(?:No space left|[Dd]isk quota|[Ii]nput/output)|Failed to flush .{0,60}events to|events\.out\.tfevents\S*; (?:No space|Input/output)",
        ("events file", "events_writer", "wandb: error", "failed to flush", "tfevents"),
        ("E tensorflow/core/util/events_writer.cc:108] Write failed because file could not be opened.",),
        ("writing events file to runs/1",),
        severity="warning",
        fatal=False,
    ),
)
