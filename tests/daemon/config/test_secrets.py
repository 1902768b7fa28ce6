from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from middlewatch.daemon.config.secrets import mask, mask_urls

KEY = "Abcd1234efgh5678"
HEX40 = "0123456789abcdef0123456789abcdef01234567"


@pytest.mark.parametrize(
    "line",
    [
        f"WANDB_API_KEY={KEY}",
        f"export AWS_SECRET_ACCESS_KEY={KEY}/K7",
        f"HF_TOKEN: '{KEY}'",
        f'{{"api_key": "{KEY}", "step": 3}}',
        f"Authorization: Bearer {KEY}",
        f"'Authorization': 'Basic {KEY}'",
        f"curl -H 'Bearer {KEY}'",
        f"train.py --wandb-api-key {KEY} --lr 1e-4",
        f"train.py --hub_token={KEY}",
        f"client_secret = {KEY}",
        f"db_password: {KEY}",
        f"pwd={KEY}",
        f"postgres://user:{KEY}@db:5432/runs",
        f"git clone https://{KEY}@example.org/x.git",
        f"https://hooks.slack.com/services/T1/B1/{KEY}",
        f"https://discord.com/api/webhooks/1/{KEY}",
        f"hf_{KEY}",
        f"sk-{KEY}",
        f"glpat-{KEY}",
        f"ghp_{KEY}{KEY}",
        f"xoxb-{KEY}",
        f"eyJhbGciOiJIUzI1NiJ9.{KEY}.{KEY}",
        f"wandb: using key {HEX40}",
        "123456789:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
    ],
)
def test_secrets_do_not_pass(line: str) -> None:
    masked = mask(line)
    assert "***" in masked
    for secret in (KEY, HEX40, "AAAAAAAA"):
        assert secret not in masked
    assert mask(masked) == masked


@pytest.mark.parametrize(
    "line",
    [
        "step 4200 | loss 2.3134 | lr 3.0e-04 | tok/s 12345.6 | mfu 41.2%",
        "token: 1234567",
        "loss per token: 0.123456, ms/token: 12.3456",
        "num_tokens_per_step=524288 max_tokens: 2048000",
        "pad_token='<|endoftext|>' mask_token: [MASK] eos_token_id=50256",
        "tokenizer: GPT2TokenizerFast, token_ids=[50256, 50257]",
        "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.40 GiB",
        "NVRM: Xid (PCI:0000:4f:00): 79, pid='<unknown>', name=<unknown>",
        "https://example.org:8080/run/4@b",
        "saved checkpoint to /data/out/step_4200/model-00001-of-00004.safetensors",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "2024-05-01T03:12:44.123456 [rank3] NCCL WARN Timeout waiting for peer",
        "损失是 NaN, 步骤 4210",
        "password authentication is on",
    ],
)
def test_ordinary_lines_pass_untouched(line: str) -> None:
    assert mask(line) == line


@given(st.text(max_size=300))
def test_any_text_can_be_masked(text: str) -> None:
    assert isinstance(mask(text), str)


@pytest.mark.parametrize(
    "word", ["a-", "a://", "a://b:", "x", "--", "_token_", "token=", "bearer "]
)
def test_a_long_line_takes_no_long_time(word: str) -> None:
    began = time.thread_time()
    mask(word * (65536 // len(word)))
    assert time.thread_time() - began < 1.0


def test_no_piece_of_an_alert_url_passes() -> None:
    url = "json://bob:hunter22@alerts.example.org:8443/tok3n/secretpath?+X-Key=abcdef&topic=mine"
    said = "alerts.example.org:8443 refused bob:hunter22 at /tok3n/secretpath (abcdef, topic mine)"
    masked = mask_urls(said, [url])
    for piece in ("hunter22", "alerts.example.org", "tok3n", "secretpath", "abcdef"):
        assert piece not in masked
    assert "refused" in masked
