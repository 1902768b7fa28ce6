"""Messages about shapes, types and devices of tensors."""

from __future__ import annotations

ROWS: tuple[tuple[str, str], ...] = (
    (
        r"Expected input batch_size \((?P<a>\d+)\) to match target batch_size \((?P<b>\d+)\)",
        "the model gives {a} rows for {b} answers: print both shapes before the loss; usually a wrong `view` or `reshape` in the model, or logits that were not flattened with the labels",
    ),
    (
        r"Using a target size \(torch\.Size\((?P<a>\[[\d, ]{0,40}\])\)\) that is different to the input size \(torch\.Size\((?P<b>\[[\d, ]{0,40}\])\)\)",
        "the answers have the shape {a} and the outputs {b}: bring them to one shape before the loss (`.squeeze(1)`, `.unsqueeze(1)`, one-hot)",
    ),
    (
        r"all elements of (?:input|target) should be between 0 and 1|Assertion `?(?:input|target)_val >= (?:zero|0)",
        "print the smallest and the largest value that the loss is given: use `binary_cross_entropy_with_logits` for outputs without a sigmoid; NaN in them says that the model has diverged before",
    ),
    (
        r"0D or 1D target tensor expected, multi-target not supported",
        "the loss wants the number of the class of each sample: give it `labels.squeeze(1)`, or `labels.argmax(1)` for one-hot ones",
    ),
    (
        r"only batches of spatial targets supported",
        "the mask has a channel too many: make it one channel of class numbers (`mask.squeeze(1).long()`; open it with `.convert('L')`)",
    ),
    (
        r"weight of size \[(?:[\d, ]{1,40})\], expected input\[(?:[\d, ]{1,40})\] to have (?P<want>\d+) channels, but got (?P<got>\d+) channels",
        "the layer wants {want} channels and gets {got}: convert the pictures (`.convert('RGB')`), bring the axes into the order N, C, H, W (`permute`), or build the first layer for {got} channels",
    ),
    (
        r"Kernel size can't be greater than actual input size|Calculated padded input size per channel|Output size is too small|Negative dimension size caused by",
        "the input is too small for so many layers that halve it: print its shape before this layer; use larger inputs, or fewer strides and poolings",
    ),
    (
        r"Expected more than 1 value per channel when training",
        "the last batch has one sample, which batch normalisation cannot use: `drop_last=True` in the loader of the training, or `model.eval()` where nothing is learnt",
    ),
    (
        r"shape '(?P<shape>\[[-\d, ]{1,60}\])' is invalid for input of size (?P<size>\d+)",
        "{size} values do not fit into the shape {shape}: print the shape before this line; the last, smaller batch (use `x.size(0)`, not a fixed batch size), or another input size",
    ),
    (
        r"cannot reshape array of size (?P<size>\d+) into shape (?P<shape>\([\d, ]{1,40}\))",
        "{size} values do not fit into the shape {shape}: print the shape before this line; a file that is cut off, or another size or type than the program expects",
    ),
    (
        r"view size is not compatible with input tensor's size and stride",
        "use `.reshape(...)` instead of `.view(...)` there, or `.contiguous()` before it",
    ),
    (
        r"embed_dim must be divisible by num_heads|hidden[_ ]size .{0,60}(?:not|must be) (?:a multiple|divisible)",
        "choose a width that is a multiple of the number of attention heads",
    ),
    (
        r"index (?P<index>-?\d+) is out of bounds for (?:axis|dimension) (?:\d+) with size (?P<size>\d+)",
        "index {index} is asked of {size}: print where it comes from; counting from 1, a list of ids longer than the data, or ids that are no positions",
    ),
    (
        r"list index out of range|string index out of range|tuple index out of range",
        "print the list and the index before that line: it is shorter than the program expects (an empty line of a file, a missing argument, fewer devices or samples)",
    ),
    (
        r"(?:too many|not enough) values to unpack \(expected(?: at least)? (?P<want>\d+)",
        "{want} values are expected there: print what comes back. Another version of the library or of the environment returns another number (gymnasium's step has five), or the data has another form",
    ),
    (
        r"only (?:length-1|size-1|0-dimensional|integer scalar) arrays can be converted|only one element tensors can be converted|a Tensor with \d+ elements cannot be converted to Scalar|truth value of an array with more than one element is ambiguous|Boolean value of Tensor with more than one value is ambiguous",
        "print the shape of what is used there: one number is expected and an array comes; take its `.mean()`, `.item()`, one element, or `.any()` / `.all()`",
    ),
    (
        r"can't convert (?:cuda|mps):?\d* device type tensor to numpy|Can't call numpy\(\) on Tensor that requires grad",
        "bring it to the host without its graph first: `tensor.detach().cpu().numpy()`",
    ),
    (
        r"Cannot convert a MPS Tensor to float64",
        "use float32 there (`.float()`, `dtype=torch.float32`): Apple's GPUs have no float64",
    ),
    (
        r"not (?:currently )?implemented for the MPS device",
        "let the operations that Apple's GPU does not have run on the CPU: `PYTORCH_ENABLE_MPS_FALLBACK=1`",
    ),
    (
        r"\"?(?P<op>\w{2,60})\"? not implemented for '(?P<type>Half|BFloat16|Long|Int|Bool|Float8\w*)'",
        "{op} does not exist for the type {type} on this device: cast what this line is given (`.float()`), or run it where the type is known (half precision belongs on a GPU)",
    ),
    (
        r"(?:carry )?input and carry output must have (?:the same|equal|identical) types|scan.{0,40}carry",
        "the state of the loop changes its type or shape: cast what the body returns to that of what it was given (the message shows both), or begin the loop with the type it ends with",
    ),
    (
        r"TracerBoolConversionError|TracerArrayConversionError|TracerIntegerConversionError|ConcretizationTypeError|Abstract tracer value encountered",
        "a value inside of jit decides in Python: use `jax.lax.cond`, `jnp.where` or `lax.while_loop` there, or make the argument static (`static_argnums`)",
    ),
    (
        r"UnexpectedTracerError|leaked (?:intermediate|trace)",
        "a value of a jitted function was kept outside of it: return it instead of storing it (in self, in a list, in a global)",
    ),
    (
        r"has been deleted or donated|Array has been deleted",
        "an array is used after it was donated to a jitted call: use what the call returns, or leave it out of `donate_argnums`",
    ),
    (
        r"must have the same first dimension|Arguments `target` and `output` must have the same (?:rank|shape)|Shapes \([\w, ]{1,60}\) and \([\w, ]{1,60}\) are incompatible",
        "compare the shapes of answers and outputs: class numbers need `sparse_categorical_crossentropy`, one-hot answers `categorical_crossentropy`, and the last layer one unit for each class",
    ),
    (
        r"is incompatible with the layer: expected (?P<want>[^,\n]{1,80}), (?:found|but received) (?P<got>[^\n]{1,80})",
        "the layer expects {want} and got {got}: bring the input into that shape before it (a channel or time axis more, another input_shape)",
    ),
    (
        r"mat1 and mat2 shapes cannot be multiplied \((?P<a>\d+x\d+) and (?P<b>\d+x\d+)\)",
        "a linear layer gets {a} and has {b}: set its in_features to what the layer before it gives for this input size",
    ),
    (
        (r"size of tensor a \((?:\d+)\) must match the size of tensor b \((?:\d+)\)|Sizes of tensors must match except in dimension"
        r"|operands could not be broadcast together with shapes (?:\([\d,]*\) \([\d,]*\))|[Ii]ncompatible shapes"),
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
)  # fmt: skip
