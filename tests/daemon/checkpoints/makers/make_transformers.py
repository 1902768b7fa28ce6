"""Good checkpoints of safetensors, transformers and accelerate. Usage: … FOLDER."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

torch: Any = importlib.import_module("torch")
safetensors: Any = importlib.import_module("safetensors.torch")
transformers: Any = importlib.import_module("transformers")
accelerate: Any = importlib.import_module("accelerate")


def tiny(layers: int = 2) -> Any:
    config = transformers.GPT2Config(
        vocab_size=64, n_positions=32, n_embd=32, n_layer=layers, n_head=2
    )
    return transformers.GPT2LMHeadModel(config)


class Lines(torch.utils.data.Dataset):
    """Sixteen lines of random words."""

    def __len__(self) -> int:
        return 16

    def __getitem__(self, index: int) -> dict[str, Any]:
        words = torch.randint(0, 64, (16,), generator=torch.Generator().manual_seed(index))
        return {"input_ids": words, "labels": words.clone()}


def tensors(home: Path) -> None:
    save = safetensors.save_file
    wide = {"a": torch.randn(40, 40), "b.half": torch.randn(9).half(), "none": torch.zeros(0, 3)}
    save(wide, home / "model.safetensors", metadata={"format": "pt", "step": "12", "名": "é"})
    save({"only": torch.tensor(1.5)}, home / "scalar.safetensors")
    save({}, home / "nothing.safetensors")
    types = ("float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2")
    save({t: torch.randn(64).to(getattr(torch, t)) for t in types}, home / "types.safetensors")
    whole = ("int64", "int32", "int16", "int8", "uint8", "bool", "uint16")
    # All bytes set: NaN, were these floating numbers.
    save({t: torch.full((8,), -1).to(getattr(torch, t)) for t in whole}, home / "ints.safetensors")
    mask = torch.full((8, 8), -float("inf")).triu(1)
    save({"h.0.attn.bias": mask, "w": torch.randn(3)}, home / "mask.safetensors")


def pretrained(home: Path) -> None:
    model = tiny()
    for weights in model.parameters():  # like trained ones: no bias is zero any more
        torch.nn.init.normal_(weights, std=0.02)
    model.save_pretrained(home / "one")
    model.save_pretrained(home / "sharded", max_shard_size="40KB")
    tiny(layers=3).save_pretrained(home / "deeper", max_shard_size="55KB")
    model.to(torch.bfloat16).save_pretrained(home / "half", max_shard_size="20KB")
    llama = transformers.LlamaConfig(
        vocab_size=64,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=2,
    )
    transformers.LlamaForCausalLM(llama).to(torch.float16).save_pretrained(home / "llama")


def trainer(folder: Path, model: Any = None, **options: Any) -> None:
    """Three saves of a real Trainer; step 6 is the last."""
    chosen = {
        "max_steps": 6,
        "save_steps": 2,
        "logging_steps": 1,
        "per_device_train_batch_size": 4,
        "report_to": [],
        "use_cpu": True,
        "disable_tqdm": True,
        "dataloader_pin_memory": False,
    }
    arguments = transformers.TrainingArguments(str(folder), **(chosen | options))
    data = Lines()
    transformers.Trainer(
        model=model or tiny(), args=arguments, train_dataset=data, eval_dataset=data
    ).train()


def trainers(home: Path) -> None:
    trainer(home / "plain")
    trainer(home / "judged", eval_strategy="steps", eval_steps=2, load_best_model_at_end=True)
    trainer(home / "weights_only", save_only_model=True, save_total_limit=1)
    trainer(home / "sixteen", bf16=True, optim="adafactor", save_steps=3)
    classes = transformers.BertConfig(
        vocab_size=64,
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
    )
    trainer(home / "bert", transformers.BertForMaskedLM(classes), optim="sgd", save_steps=6)


def states(home: Path) -> None:
    machine = accelerate.Accelerator(cpu=True)
    model = torch.nn.Linear(8, 8)
    optimizer = torch.optim.AdamW(model.parameters())
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 10)
    model, optimizer, schedule = machine.prepare(model, optimizer, schedule)
    machine.backward(model(torch.randn(2, 8)).sum())
    optimizer.step()
    machine.save_state(str(home / "checkpoint_12"))
    machine.save_state(str(home / "step_24"), safe_serialization=False)


def main(home: Path) -> None:
    torch.manual_seed(5)
    torch.set_num_threads(1)
    for make in (tensors, pretrained, trainers, states):
        folder = home / make.__name__
        folder.mkdir()
        make(folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
