"""First steps by the words of an error's message."""

from __future__ import annotations

import re

import pytest

from middlewatch.daemon.report.first_steps import first_step_in_log, values_in
from middlewatch.daemon.report.known_errors import _ROWS, known_step


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
        ("RuntimeError: something that nobody has seen", ""),
    ],
)  # fmt: skip
def test_what_a_message_asks_for(text: str, step: str) -> None:
    found = known_step(text)
    assert step in found
    assert bool(found) == bool(step)


def test_no_step_asks_for_what_its_pattern_may_not_have_found() -> None:
    """A name in a step is a group of its pattern that stands in no alternative."""
    for pattern, step in _ROWS:
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
