import sys
import time

import deepspeed
import torch
from torch import nn

deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False  # plain gloo on this machine
CONFIG = {
    "train_micro_batch_size_per_gpu": 8,
    "gradient_accumulation_steps": 2,
    "gradient_clipping": 1.0,
    "steps_per_print": 20,
    "optimizer": {"type": "AdamW", "params": {"lr": 2e-3, "torch_adam": True}},
    "scheduler": {"type": "WarmupLR", "params": {"warmup_num_steps": 20, "warmup_max_lr": 2e-3}},
    "bf16": {"enabled": True},
    "zero_optimization": {"stage": 1},
}


class TinyGPT(nn.Module):
    def __init__(self, vocab=64, d=32, ctx=24):
        super().__init__()
        self.tok, self.pos = nn.Embedding(vocab, d), nn.Embedding(ctx, d)
        layer = nn.TransformerEncoderLayer(d, 4, 64, dropout=0.0, batch_first=True, norm_first=True)
        self.blocks = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(d, vocab)

    def forward(self, ids):
        n = ids.size(1)
        mask = torch.triu(torch.full((n, n), float("-inf"), dtype=self.head.weight.dtype), 1)
        return self.head(self.blocks(self.tok(ids) + self.pos(torch.arange(n)), mask=mask))


def data(n):
    """Counting sequences with different strides."""
    start, stride = torch.randint(0, 64, (n, 1)), torch.randint(1, 4, (n, 1))
    return (start + stride * torch.arange(25)) % 64


def main():
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    deepspeed.init_distributed("gloo")
    torch.manual_seed(0)
    model = TinyGPT()
    engine, _, _, _ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config=CONFIG)
    for micro in range(1, steps + 1):
        ids = data(engine.train_micro_batch_size_per_gpu())
        logits = engine(ids[:, :-1])
        loss = nn.functional.cross_entropy(logits.float().flatten(0, 1), ids[:, 1:].flatten())
        engine.backward(loss)
        engine.step()
        time.sleep(0.09)
        if micro % 20 == 0 and engine.global_rank == 0:
            print(f"global_step={engine.global_steps} lm_loss={loss.item():.4f} lr={engine.get_lr()[0]:.2e}", flush=True)
        if micro % 200 == 0:
            engine.save_checkpoint("checkpoints", tag=f"gs{engine.global_steps}")
    torch.distributed.destroy_process_group()


main()
