"""Messages about the training itself: gradients, optimizers, trainers, precision, memory, search."""

from __future__ import annotations

ROWS: tuple[tuple[str, str], ...] = (
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
        r"OOM when allocating tensor with shape\[?(?:[\d,]+)|ran out of memory trying to allocate (?:[\d.]+ ?[KMGT]?i?B)",
        ("make a step smaller: half the batch, a smaller input, mixed precision, or accumulate gradients; "
        "see with `nvidia-smi` that no other process has a part of the memory"),
    ),
    (
        r"Expected to mark a variable ready only once",
        "gradients of one part come twice in a step: `gradient_checkpointing_kwargs={'use_reentrant': False}`, or `static_graph=True` for DDP; do not call the wrapped model twice before backward",
    ),
    (
        r"Attempting to unscale FP16 gradients",
        "keep the weights that are trained in float32 and let autocast do the rest: load the model without `torch_dtype=float16`, or train in bf16",
    ),
    (
        r"unscale_\(\) has already been called",
        "call `scaler.unscale_` once for each step of the optimizer, and `scaler.update()` after it",
    ),
    (
        r"No inf checks were recorded for this optimizer",
        "no parameter of this optimizer got a gradient in this step: look for a backward that was skipped, frozen weights, or an optimizer over another model's parameters",
    ),
    (
        r"optimizer got an empty parameter list",
        "the model has no parameters that it knows of: keep layers in `nn.ModuleList` (not in a list), and do not freeze all of them",
    ),
    (
        r"a leaf Variable that requires grad",
        "change weights under `torch.no_grad()` (or through `.data`), not in the graph",
    ),
    (
        r"grad can be implicitly created only for scalar outputs",
        "take the mean of the loss before `backward()`: it has one value for each sample or each GPU",
    ),
    (
        r"Recomputed values for the following tensors have different metadata",
        "a checkpointed block does something else when it runs again: the same dropout and autocast in both, no state that changes between them; or switch gradient checkpointing off",
    ),
    (
        r"Function '?(?P<op>\w{2,60})'? returned nan values in its \d+[a-z]{2} output",
        "the backward of {op} gives the first NaN (the traceback of the forward above shows where): guard what goes in there (division by 0, sqrt or log at 0, norm of a zero vector)",
    ),
    (
        r"probability tensor contains either `?inf`?|Expected parameter \w+ .{0,200}(?:found invalid values|to satisfy the constraint)",
        "count from where the outputs of the model are no numbers: look at the last losses and gradient norms, begin again from a save before it with a lower rate and clipped gradients, and check inputs and rewards for NaN",
    ),
    (
        r"(?:svd|eigh?|linalg\.\w+).{0,60}(?:did not converge|failed to converge|singular)|[Ss]ingular matrix|not positive[- ]definite|leading minor of order",
        "count the values that are no numbers in the matrix first; if there are none, add a little to its diagonal (jitter, `reg_covar`, ridge), or take out columns that depend on each other",
    ),
    (
        r"Tried to step (?P<done>\d+) times\. The specified number of total steps is (?P<total>\d+)",
        "the schedule was made for {total} steps and is asked for {done}: count its steps by batches and epochs (accumulation, resumed runs), or step it once an epoch",
    ),
    (
        r"could not find the monitored key|conditioned on metric .{1,80} which is not available|monitor.{0,40}(?:not available|not found)",
        "compare the name that is monitored with those that are logged (the message lists them): write it the same way, and log it in each validation (`self.log(...)`)",
    ),
    (
        r"requires the (?:save and eval|evaluation and save|save and evaluation|eval and save) strateg\w+ to match|load_best_model_at_end requires",
        "give saving and evaluation the same strategy and the same steps (`eval_strategy`, `save_strategy`), or set `load_best_model_at_end=False`",
    ),
    (
        r"requires an eval_dataset|evaluation requires an eval",
        "give the trainer an `eval_dataset`, or switch evaluation off (`eval_strategy='no'`)",
    ),
    (
        r"No `\w{1,60}(?:\(\))?` method defined|must define (?:a |an )?`?(?:training_step|configure_optimizers)",
        "the module lacks a method that the trainer needs: see how it is spelled in the class, and on which level of indentation it stands",
    ),
    (
        r"Cannot handle batch sizes > 1 if no padding token is defined",
        "tell the model its padding token as well: `model.config.pad_token_id = tokenizer.pad_token_id`",
    ),
    (
        r"chat_template is not set|[Cc]annot use chat template",
        "the tokenizer has no chat template: take the instruct version of the model, or set `tokenizer.chat_template` yourself",
    ),
    (
        r"Target modules .{1,200} not found in the base model",
        "print the names of the layers (`[n for n, _ in model.named_modules()]`), and name those in `target_modules` (or `'all-linear'`)",
    ),
    (
        r"cannot perform fine-tuning on purely quantized models|`?\.to`? is not supported for `?[48]-bit",
        "put adapters on the quantised model (`get_peft_model` after `prepare_model_for_kbit_training`), and leave its place to `device_map`",
    ),
    (
        r"FlashAttention only supports|flash_attn.{0,80}(?:not installed|cannot be used)|FlashAttention2 has been toggled on",
        "choose another attention (`attn_implementation='sdpa'`), or install flash-attn for this GPU and this torch; it wants fp16 or bf16",
    ),
    (
        r"(?:Your setup doesn't support bf16|bf16.{0,40}not supported|BFloat16 is not supported|FP16 Mixed precision training .{0,120}CUDA|fp16 mixed precision requires a GPU)",
        "see whether the process has the GPU that you rented (`nvidia-smi -L`, CUDA_VISIBLE_DEVICES); then choose the precision that it has: bf16 from Ampere on, fp16 before, none on a CPU",
    ),
    (
        r"must flatten tensors with uniform dtype|expects uniform (?:dtype|requires_grad)",
        "give all weights of an FSDP block one type, and freeze whole blocks only: cast the model before it is wrapped, or set `use_orig_params=True`",
    ),
    (
        r"Check batch related parameters\. train_batch_size is not equal to",
        "let the three fit: train_batch_size = micro batch of a GPU x accumulation x number of ranks; or leave train_batch_size at 'auto'",
    ),
    (
        r"(?:world[_ ]?size|number of (?:GPUs|ranks|processes)).{0,80}(?:not |must be |is not )divisible",
        "count the ranks: they must be a multiple of tensor x pipeline x context parallel sizes; change these, or the number of processes",
    ),
    (
        r"No trials are completed yet",
        "find the first trial that failed in this log: none has a result, so that the fault is in what they share",
    ),
    (
        r"resource request cannot be scheduled|No available node types can fulfill resource request",
        "compare what a task asks for with what the cluster has (`ray status`): fewer GPUs or CPUs for each trial, or more nodes",
    ),
    (
        r"requires? (?:an? )?GPU|You requested gpu: .{0,60}But your machine only has|No supported gpu backend found|GPU is not found|Unable to initialize backend '(?:cuda|gpu)'|No CUDA GPUs are available",
        "see whether the process has a GPU (`nvidia-smi -L`, CUDA_VISIBLE_DEVICES, `--gpus all` of docker, `--gres` of Slurm), and whether the installed build can use it",
    ),
    (
        r"BackendCompilerFailed|InductorError|InternalTorchDynamoError|torch\._dynamo\.exc",
        "run it once without compiling to see the error itself (`TORCH_COMPILE_DISABLE=1`); if it runs then, compile fewer parts, or use another version of torch",
    ),
    (
        r"Observation(?:s)? .{0,120}(?:does not|doesn't) match|observation returned by .{0,80}does not match|Unexpected observation shape",
        "print shape, type and bounds of what the environment returns beside its `observation_space`, and make them the same (`env_checker.check_env(env)`)",
    ),
    (
        r"OverflowError: math range error|OverflowError: \(34, 'Numerical result out of range'\)|Numerical result out of range",
        "print what goes into this function: a value has become very large (exp of a large number, a loss that has diverged); clip it, or compute with logarithms",
    ),
)  # fmt: skip
