"""Accelerate, diffusers, the Trainer, PEFT, sentence-transformers."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from ..case import Run, case
from .plain_torch import net, train

STATE = ("optimizer.bin", "scheduler.bin", "random_states_0.pkl")


def prepared(**options: Any) -> tuple[Any, Any, Any, Any]:
    from accelerate import Accelerator

    accelerator = Accelerator(cpu=True, **options)
    return accelerator, *accelerator.prepare(*net())


@case("accelerate-steps", "torch", "accelerate")
def accelerate_steps(run: Run) -> None:
    """save_state into checkpoint-N, as the scripts of diffusers and many others do."""
    accelerator, model, optimizer, scheduler = prepared()
    for step in (500, 1000, 1500):
        train(model, optimizer, scheduler)
        accelerator.save_state(str(run.root / f"checkpoint-{step}"))
        run.half(*(f"checkpoint-{step}/{n}" for n in STATE))
        run.saved(f"checkpoint-{step}", step)


@case("accelerate-epochs", "torch", "accelerate")
def accelerate_epochs(run: Run) -> None:
    """epoch_N and step_N folders, torch files instead of safetensors."""
    accelerator, model, optimizer, scheduler = prepared()
    for epoch in (0, 1, 2):
        train(model, optimizer, scheduler)
        accelerator.save_state(str(run.root / f"epoch_{epoch}"), safe_serialization=False)
        run.saved(f"epoch_{epoch}", None)


@case("accelerate-automatic", "torch", "accelerate")
def accelerate_automatic(run: Run) -> None:
    """Its own names, at most three kept, an object of the author's registered."""
    import torch
    from accelerate.utils import ProjectConfiguration

    accelerator, model, optimizer, scheduler = prepared(
        project_config=ProjectConfiguration(
            project_dir=str(run.root), automatic_checkpoint_naming=True, total_limit=3
        )
    )
    accelerator.register_for_checkpointing(
        torch.optim.lr_scheduler.StepLR(
            torch.optim.SGD([torch.nn.Parameter(torch.ones(3))], 0.1), 1
        )
    )
    for n in range(5):
        train(model, optimizer, scheduler)
        accelerator.save_state()
        run.saved(f"checkpoints/checkpoint_{n}", n, gone=[f"checkpoints/checkpoint_{n - 3}"])


RANKS = """
import sys, torch
from accelerate import Accelerator
sys.path.insert(0, sys.argv[2])
from tests.saves.cases.plain_torch import net, train
accelerator = Accelerator(cpu=True)
model, optimizer, scheduler = accelerator.prepare(*net())
for step in (100, 200, 300):
    train(model, optimizer, scheduler)
    accelerator.save_state(f"{sys.argv[1]}/step_{step}")
"""


@case("accelerate-two-ranks", "torch", "accelerate")
def accelerate_ranks(run: Run) -> None:
    script = run.folder / "train.py"
    script.write_text(RANKS)
    tree = Path(__file__).parents[3]
    subprocess.run(
        [
            sys.executable,
            "-m",
            "torch.distributed.run",
            "--nproc-per-node",
            "2",
            "--master-port",
            "29631",
            str(script),
            str(run.root),
            str(tree),
        ],
        check=True,
    )
    for step in (100, 200, 300):
        run.saved(f"step_{step}", step)


def unet() -> Any:
    from diffusers import UNet2DModel

    return UNet2DModel(
        sample_size=8,
        block_out_channels=(32, 32),
        layers_per_block=1,
        down_block_types=("DownBlock2D", "DownBlock2D"),
        up_block_types=("UpBlock2D", "UpBlock2D"),
    )


@case("diffusers-unet", "torch", "accelerate", "diffusers")
def diffusers_unet(run: Run) -> None:
    """train_text_to_image.py: hooks of save_state that write unet/ and unet_ema/, the pipeline at the end."""
    import torch
    from accelerate import Accelerator
    from diffusers import DDPMPipeline, DDPMScheduler
    from diffusers.training_utils import EMAModel

    model = unet()
    ema = EMAModel(model.parameters(), model_cls=type(model), model_config=model.config)
    accelerator = Accelerator(cpu=True)

    def save(models: list[Any], weights: list[Any], output_dir: str) -> None:
        ema.save_pretrained(str(Path(output_dir) / "unet_ema"))
        for m in models:
            m.save_pretrained(str(Path(output_dir) / "unet"))
            weights.pop()

    accelerator.register_save_state_pre_hook(save)
    optimizer = torch.optim.AdamW(model.parameters())
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda _: 1.0)
    model, optimizer, scheduler = accelerator.prepare(model, optimizer, scheduler)
    for step in (500, 1000, 1500):
        loss = model(torch.randn(1, 3, 8, 8), 10).sample.square().mean()
        accelerator.backward(loss)
        optimizer.step()
        scheduler.step()
        ema.step(model.parameters())
        accelerator.save_state(str(run.root / f"checkpoint-{step}"))
        run.half(*(f"checkpoint-{step}/{n}" for n in (*STATE, "unet_ema")))
        run.saved(f"checkpoint-{step}", step, also=[f"checkpoint-{step}/unet"])
    DDPMPipeline(unet=accelerator.unwrap_model(model), scheduler=DDPMScheduler()).save_pretrained(
        run.root
    )
    (run.folder / "final").write_text("model_index.json, unet/, scheduler/ in the root")


@case("diffusers-lora", "torch", "accelerate", "diffusers", "peft")
def diffusers_lora(run: Run) -> None:
    """train_text_to_image_lora.py: the LoRA weights alone, beside the optimizer."""
    import torch
    from accelerate import Accelerator
    from diffusers.utils import convert_state_dict_to_diffusers
    from peft import LoraConfig, get_peft_model
    from peft.utils import get_peft_model_state_dict
    from safetensors.torch import save_file

    model = get_peft_model(net()[0], LoraConfig(r=4, target_modules=["0", "2"]))
    accelerator = Accelerator(cpu=True)

    def save(models: list[Any], weights: list[Any], output_dir: str) -> None:
        state = convert_state_dict_to_diffusers(get_peft_model_state_dict(models[0]))
        save_file(
            {k: v.contiguous() for k, v in state.items()},
            Path(output_dir) / "pytorch_lora_weights.safetensors",
        )
        weights.pop()

    accelerator.register_save_state_pre_hook(save)
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad])
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda _: 1.0)
    model, optimizer, scheduler = accelerator.prepare(model, optimizer, scheduler)
    for step in (100, 200, 300):
        train(model, optimizer, scheduler)
        accelerator.save_state(str(run.root / f"checkpoint-{step}"))
        run.half(*(f"checkpoint-{step}/{n}" for n in STATE))
        run.saved(f"checkpoint-{step}", step)


def gpt(**options: Any) -> Any:
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(0)
    return GPT2LMHeadModel(
        GPT2Config(
            n_layer=2,
            n_head=2,
            n_embd=32,
            vocab_size=200,
            n_positions=32,
            bos_token_id=0,
            eos_token_id=0,
            **options,
        )
    )


def texts(n: int = 24) -> list[dict[str, Any]]:
    import torch

    return [{"input_ids": t, "labels": t} for t in torch.randint(0, 200, (n, 16))]


def trainer(run: Run, model: Any, **options: Any) -> Any:
    from transformers import Trainer, TrainingArguments

    settings: dict[str, Any] = {
        "output_dir": str(run.root),
        "max_steps": 6,
        "save_steps": 2,
        "logging_steps": 2,
        "report_to": "none",
        "use_cpu": True,
        "per_device_train_batch_size": 2,
        "disable_tqdm": True,
    }
    return Trainer(
        model,
        TrainingArguments(**(settings | options)),
        train_dataset=texts(),
        eval_dataset=texts(4),
    )


@case("hf-trainer", "torch", "transformers", "accelerate")
def hf(run: Run) -> None:
    trainer(run, gpt()).train()
    for step in (2, 4, 6):
        run.half(f"checkpoint-{step}/optimizer.pt", f"checkpoint-{step}/scheduler.pt")
        run.saved(f"checkpoint-{step}", step)


@case("hf-trainer-best", "torch", "transformers", "accelerate")
def hf_best(run: Run) -> None:
    t = trainer(
        run,
        gpt(),
        eval_strategy="steps",
        eval_steps=2,
        load_best_model_at_end=True,
        save_total_limit=3,
        learning_rate=5e-2,
    )
    t.train()
    run.best = Path(t.state.best_model_checkpoint).name
    for step in (2, 4, 6):
        run.saved(f"checkpoint-{step}", step)


@case("hf-trainer-model-only", "torch", "transformers", "accelerate")
def hf_model_only(run: Run) -> None:
    trainer(run, gpt(), save_only_model=True).train()
    for step in (2, 4, 6):
        run.saved(f"checkpoint-{step}", step, resumable=False)


@case("hf-trainer-peft", "torch", "transformers", "accelerate", "peft")
def hf_peft(run: Run) -> None:
    from peft import LoraConfig, get_peft_model

    model = get_peft_model(gpt(), LoraConfig(r=4, target_modules=["c_attn"], fan_in_fan_out=True))
    t = trainer(run, model)
    t.train()
    for step in (2, 4, 6):
        run.saved(f"checkpoint-{step}", step)
    t.save_model()
    run.saved(".", None, resumable=False, also=["adapter_model.safetensors"])


@case("hf-no-trainer", "torch", "transformers", "accelerate")
def hf_no_trainer(run: Run) -> None:
    """save_pretrained into a folder an epoch: nothing but the model."""
    import torch

    model = gpt()
    for epoch in (1, 2, 3):
        with torch.no_grad():
            model.transformer.wte.weight.add_(0.01)
        model.save_pretrained(run.root / f"epoch_{epoch}")
        run.saved(f"epoch_{epoch}", None, resumable=False)


@case("hf-sharded", "torch", "transformers", "accelerate")
def hf_sharded(run: Run) -> None:
    model = gpt()
    for step in (100, 200, 300):
        model.save_pretrained(run.root / f"step-{step}" / "model", max_shard_size="40KB")
        import torch

        torch.save(net()[1].state_dict(), run.root / f"step-{step}" / "optim.pt")
        run.half(f"step-{step}/optim.pt")
        run.saved(f"step-{step}", step, also=[f"step-{step}/model"])


@case("peft-folders", "torch", "peft", "transformers")
def peft_folders(run: Run) -> None:
    from peft import LoraConfig, get_peft_model

    model = get_peft_model(gpt(), LoraConfig(r=4, target_modules=["c_attn"], fan_in_fan_out=True))
    for step in (50, 100, 150):
        model.save_pretrained(str(run.root / f"adapter-{step}"))
        run.saved(f"adapter-{step}", step, resumable=False)


@case("sentence-transformers", "torch", "sentence_transformers", "transformers", "tokenizers")
def sentence(run: Run) -> None:
    from datasets import Dataset
    from sentence_transformers import (
        SentenceTransformer,
        SentenceTransformerTrainer,
        SentenceTransformerTrainingArguments,
        losses,
        models,
    )
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    vocab = {
        w: i for i, w in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghij"])
    }
    tok = Tokenizer(WordLevel(vocab, unk_token="[UNK]"))
    tok.pre_tokenizer = Whitespace()
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tok,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
    )
    base = run.folder / "base"
    fast.save_pretrained(base)
    BertModel(
        BertConfig(
            vocab_size=20,
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=64,
        )
    ).save_pretrained(base)
    word = models.Transformer(str(base))
    model = SentenceTransformer(modules=[word, models.Pooling(32)], device="cpu")
    data = Dataset.from_dict({"a": ["a b c", "d e f"] * 8, "b": ["c b a", "f e d"] * 8})
    args = SentenceTransformerTrainingArguments(
        output_dir=str(run.root),
        max_steps=6,
        save_steps=2,
        per_device_train_batch_size=4,
        use_cpu=True,
        report_to="none",
    )
    SentenceTransformerTrainer(
        model=model, args=args, train_dataset=data, loss=losses.MultipleNegativesRankingLoss(model)
    ).train()
    shutil.rmtree(base)
    for step in (2, 4, 6):
        run.saved(f"checkpoint-{step}", step)


@case("torchtune", "torch", "torchtune", "safetensors")
def torchtune(run: Run) -> None:
    """FullModelHFCheckpointer: a folder an epoch, and one file of the recipe's state beside all."""
    import torch
    from safetensors.torch import save_file

    # its recipes want a published model; the layout is written here as FullModelHFCheckpointer.save_checkpoint does
    model, optimizer, _ = net()
    for epoch in (0, 1, 2):
        train(model, optimizer)
        folder = run.root / f"epoch_{epoch}"
        folder.mkdir()
        state = dict(model.state_dict())
        names = list(state)
        index: dict[str, str] = {}
        for part, keys in enumerate((names[: len(names) // 2], names[len(names) // 2 :]), 1):
            name = f"model-{part:05d}-of-00002.safetensors"
            save_file({k: state[k] for k in keys}, folder / name, {"format": "pt"})
            index |= dict.fromkeys(keys, name)
        size = sum(t.numel() * t.element_size() for t in state.values())
        (folder / "model.safetensors.index.json").write_text(
            json.dumps({"metadata": {"total_size": size}, "weight_map": index})
        )
        (folder / "config.json").write_text('{"model_type": "llama"}')
        (run.root / "recipe_state").mkdir(exist_ok=True)
        if epoch < 2:
            torch.save(
                {
                    "optimizer": optimizer.state_dict(),
                    "seed": 1,
                    "epochs_run": epoch + 1,
                    "total_epochs": 3,
                    "max_steps_per_epoch": None,
                },
                run.root / "recipe_state" / "recipe_state.pt",
            )
        run.saved(folder, None, resumable=False)
    run.half("recipe_state", "recipe_state/recipe_state.pt")
    run.resume_from = "epoch_1"


@case("deepspeed-in-trainer", "torch", "transformers", "accelerate", "deepspeed")
def trainer_deepspeed(run: Run) -> None:
    """The files of the Trainer around a folder of DeepSpeed, which DeepSpeed writes itself."""
    import os

    import deepspeed
    import torch

    os.environ |= {
        "RANK": "0",
        "LOCAL_RANK": "0",
        "WORLD_SIZE": "1",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": "29741",
        "DS_ACCELERATOR": "cpu",
    }
    deepspeed.init_distributed("gloo")
    model, _, _ = net()
    engine, *_ = deepspeed.initialize(
        model=model,
        optimizer=torch.optim.Adam(model.parameters()),
        config={
            "train_batch_size": 4,
            "zero_optimization": {"stage": 1},
            "zero_allow_untested_optimizer": True,
        },
    )
    for step in (2, 4, 6):
        while engine.global_steps < step:
            loss = engine(torch.randn(4, 48)).square().mean()
            engine.backward(loss)
            engine.step()
        folder = run.root / f"checkpoint-{step}"
        gpt().save_pretrained(folder)
        engine.save_checkpoint(str(folder), tag=f"global_step{step}")
        torch.save({"cpu": torch.get_rng_state()}, folder / "rng_state.pth")
        torch.save({"last_epoch": step}, folder / "scheduler.pt")
        (folder / "trainer_state.json").write_text(
            json.dumps({"global_step": step, "epoch": step / 10, "log_history": [], "max_steps": 6})
        )
        run.half(folder / f"global_step{step}")
        run.saved(folder, step)
