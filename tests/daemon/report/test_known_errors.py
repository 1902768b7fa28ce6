"""First steps by the words of an error's message."""

from __future__ import annotations

import re

import pytest

from middlewatch.daemon.report.first_steps import first_step_in_log, values_in
from middlewatch.daemon.report.known_errors import known_step, rows


@pytest.mark.parametrize(
    ("text", "step"),
    [
        (("RuntimeError: Error(s) in loading state_dict for ResNet: size mismatch for fc.weight: copying a param with shape "
         "torch.Size([5, 512]) from checkpoint, the shape in current model is torch.Size([7, 512])."),
         "fc.weight has the shape [5, 512] in the save and [7, 512] in this model"),
        ('RuntimeError: Error(s) in loading state_dict for Net: Missing key(s) in state_dict: "module.fc.weight"', "prefix `module.`"),
        ("OSError: image file is truncated (83 bytes not processed)", "PIL.Image.open"),
        ("InvalidArgumentError: Graph execution error: Unknown image file format. One of JPEG, PNG required.", "PIL.Image.open"),
        ("ValueError: num_samples should be a positive integer value, but got num_samples=0", "the data set is empty"),
        ("RuntimeError: stack expects each tensor to be equal size, but got [3, 32, 32] at entry 0 and [1, 32, 32] at entry 4",
         "samples of one batch have the sizes [3, 32, 32] and [1, 32, 32]"),
        ("IndexError: Target 10 is out of bounds.", "count the values of the labels"),
        ("nll_loss2d_forward_kernel: block: [9,0,0] Assertion `t >= 0 && t < n_classes` failed.", "count the values of the labels"),
        ("XGBoostError: regression_obj.cu:83: label must be in (0, 1) for logistic regression", "count the values of the labels"),
        ("IndexError: index out of range in self", "resize_token_embeddings"),
        ("ValueError: could not convert string to float: 'n/a'", "'n/a'"),
        ("ValueError: Input X contains NaN.", "df.isna().sum()"),
        ("json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)", "json.tool"),
        ("ParserError: Error tokenizing data. C error: Expected 4 fields in line 90, saw 7", "sed -n 90p"),
        ("_ArrayMemoryError: Unable to allocate 15.0 GiB for an array with shape (48000, 42006) and data type float64",
         "this array of 15.0 GiB (shape (48000, 42006), float64)"),
        ("RuntimeError: mat1 and mat2 shapes cannot be multiplied (64x512 and 256x10)", "gets 64x512 and has 256x10"),
        ("RuntimeError: Expected all tensors to be on the same device, but found at least two devices", ".to(device)"),
        ("RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn", "requires_grad=False"),
        ("RuntimeError: operator torchvision::nms does not exist", "torchvision was built for another torch"),
        ("ImportError: cannot import name 'AdamW' from 'transformers' (/x/__init__.py)", "transformers of this version has no AdamW"),
        ("TypeError: Trainer.__init__() got an unexpected keyword argument 'tokenizer'", "`tokenizer` is not known to the installed version"),
        ("AttributeError: module 'numpy' has no attribute 'bool8'", "numpy of this version has no bool8"),
        ("OSError: You are trying to access a gated repo.", "hf auth login"),
        ("OSError: [WinError 1455] The paging file is too small for this operation", "paging file of Windows"),
        ("KeyError: 'target'", "without 'target'"),
        ("safetensors_rust.SafetensorError: Error while deserializing header: HeaderTooLarge", "git lfs pull"),
        ("OSError: unsloth/x does not appear to have a file named config.json. Checkout", "config.json is not in it"),
        ("ValueError: No valid checkpoint found in output directory (out)", "list what is in the folder of the saves"),
        ("RuntimeError: The checkpoint being loaded used a DP world size of 8 but the current world size is 4.", "start it with 8 ranks"),
        ("pyarrow.lib.ArrowInvalid: Parquet magic bytes not found in footer.", "look at its size and its first bytes"),
        ("cv2.error: OpenCV(4.9.0) /io/x.cpp:182: error: (-215:Assertion failed) !_src.empty() in function 'cvtColor'", "cv2.imread gave None"),
        ('ValueError: Unknown split "validation". Should be one of [\'train\', \'test\'].', "the splits ['train', 'test'] and no validation"),
        ("ValueError: The model did not return a loss from the inputs, only the following keys: logits.", "rename the column of the answers to `labels`"),
        ("KeyError: \"['alter'] not in index\"", "df.columns.tolist()"),
        ("ValueError: Found input variables with inconsistent numbers of samples: [90, 80]", "90 rows and the answers 80"),
        ("ValueError: X has 12 features, but StandardScaler is expecting 14 features as input.", "StandardScaler was fitted on 14 columns and gets 12 now"),
        ("lightgbm.basic.LightGBMError: Do not support special JSON characters in feature name.", "rename the columns"),
        ("ValueError: pandas dtypes must be int, float or bool.\nFields with bad pandas dtypes: city: object", ".astype('category')"),
        ("_catboost.CatBoostError: Bad value for num_feature[non_default_doc_idx=0,feature_idx=2]=\"north\": Cannot convert", "cat_features"),
        ("RuntimeError: Given groups=1, weight of size [64, 3, 7, 7], expected input[8, 4, 64, 64] to have 3 channels, but got 4 channels instead",
         "the layer wants 3 channels and gets 4"),
        ("TypeError: scan body function carry input and carry output must have equal types, but they differ", "changes its type or shape"),
        ("jax.errors.TracerBoolConversionError: Attempted boolean conversion of traced array with shape bool[].", "jax.lax.cond"),
        ("ValueError: Arguments `target` and `output` must have the same rank (ndim).", "sparse_categorical_crossentropy"),
        ('ValueError: Input 0 of layer "conv2d" is incompatible with the layer: expected min_ndim=4, found ndim=3.', "expects min_ndim=4 and got ndim=3"),
        ("ValueError: Attempting to unscale FP16 gradients.", "keep the weights that are trained in float32"),
        ("MisconfigurationException: `ModelCheckpoint(monitor='val_acc')` could not find the monitored key in the returned metrics", "compare the name that is monitored"),
        ("ValueError: --load_best_model_at_end requires the save and eval strategy to match, but found", "the same strategy"),
        ("ValueError: Target modules {'q_proj'} not found in the base model. Please check", "print the names of the layers"),
        ("AssertionError: Check batch related parameters. train_batch_size is not equal to micro_batch_per_gpu * gradient_acc_step", "micro batch of a GPU x accumulation"),
        ("RuntimeError: Cannot re-initialize CUDA in forked subprocess.", "keep CUDA out of Dataset"),
        ("torch.distributed.DistNetworkError: The server socket has failed to listen on any local network address. EADDRINUSE", "ss -ltnp"),
        ("RuntimeError: CUDA error: invalid device ordinal", "use LOCAL_RANK, not RANK"),
        ("botocore.exceptions.NoCredentialsError: Unable to locate credentials", "aws sts get-caller-identity"),
        ("requests.exceptions.SSLError: [SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed", "date -u"),
        ("huggingface_hub.errors.HfHubHTTPError: 429 Client Error: Too Many Requests for url", "how many processes ask at once"),
        ("omegaconf.errors.MissingMandatoryValue: Missing mandatory value: data.path", "the setting data.path has no value"),
        ("yaml.scanner.ScannerError: mapping values are not allowed here", "no valid YAML"),
        ("PermissionError: [Errno 13] Permission denied: '/data/out'", "id -un"),
        ("httpcore.ConnectError: [Errno 111] Connection refused (host: huggingface.co)", "HF_ENDPOINT"),
        ("ConnectionRefusedError: [Errno 111] Connection refused", "nothing listens there"),
        ("node-a15:29414 [3] transport/net_ib.cc:1692 NCCL WARN NET/IB: Got completion from peer 10.20.4.14<47122> with status=12", "ibstat"),
        ("RuntimeError: something that nobody has seen", ""),
    ],
)  # fmt: skip
def test_what_a_message_asks_for(text: str, step: str) -> None:
    found = known_step(text)
    assert step in found
    assert bool(found) == bool(step)


def test_no_step_asks_for_what_its_pattern_may_not_have_found() -> None:
    """A name in a step is a group of its pattern that stands in no alternative."""
    for pattern, step in rows():
        names = set(re.findall(r"\{(\w+)", step))
        groups = set(re.compile(pattern).groupindex)
        assert names <= groups, pattern
        assert not names or "|" not in re.sub(
            r"\([^()]*\)", "", re.sub(r"\[[^\]]*\]", "", pattern)
        ), pattern


def test_it_goes_before_the_own_code() -> None:
    step = first_step_in_log(
        "python_exception",
        9,
        "KeyError: 'target'",
        {"traceback_line": 2, "frame": "/w/ddp.py:19 in __getitem__"},
    )
    assert step.index("without 'target'") < step.index("look at line 19 of /w/ddp.py")


def test_the_names_in_a_command_come_from_the_proof() -> None:
    text = "OSError: [Errno 28] No space left on device: '/tmp/a1' -> '/root/ckpts/last.ckpt'"
    assert values_in(text) == {"MOUNT": "/root/ckpts", "DIR": "/root/ckpts"}
    assert values_in("ConnectError (host: huggingface.co)") == {"HOST": "huggingface.co"}
    assert values_in("at http://127.0.0.1:5000/api") == {"HOST": "127.0.0.1:5000"}
    assert values_in("KeyError: '$(rm -rf /)'") == {}


def test_what_it_quotes_has_no_secret() -> None:
    token = "hf_" + "a1B2" * 9
    assert token not in known_step(f"KeyError: '{token}'")
    assert token[:20] not in known_step(f"ValueError: could not convert string to float: '{token}'")
