import time
import torch, torch.nn as nn, deepspeed

torch.set_num_threads(1)
torch.manual_seed(0)


class PatchCaptioner(nn.Module):
    """Image patches as a prefix, caption tokens behind them."""

    def __init__(self, vocab=64, d=48):
        super().__init__()
        self.patch, self.emb = nn.Linear(48, d), nn.Embedding(vocab, d)
        self.block = nn.TransformerEncoderLayer(d, 4, 96, batch_first=True, dropout=0.0)
        self.head = nn.Linear(d, vocab)

    def forward(self, patches, ids):
        x = torch.cat([self.patch(patches), self.emb(ids[:, :-1])], 1)
        mask = torch.triu(torch.full((x.shape[1],) * 2, float("-inf"), dtype=x.dtype), 1)
        z = self.head(self.block(x, mask))[:, patches.shape[1]:]
        return nn.functional.cross_entropy(z.flatten(0, 1).float(), ids[:, 1:].flatten())


model = PatchCaptioner()
opt = torch.optim.AdamW(model.parameters(), 2e-3)
engine, _, _, _ = deepspeed.initialize(model=model, optimizer=opt, config="ds_config.json")
g = torch.Generator().manual_seed(0)
words = torch.randint(0, 64, (10, 9), generator=g)
protos = torch.randn(10, 16, 48, generator=g)
for micro in range(1, 401):
    k = torch.randint(0, 10, (4,), generator=g)
    loss = engine((protos[k] + 0.5 * torch.randn(4, 16, 48, generator=g)).bfloat16(), words[k])
    engine.backward(loss)
    engine.step()
    time.sleep(0.08)
    if micro % 20 == 0:
        print(f"iter {micro // 2:4d} | lm loss: {loss.item():.4E} | learning rate: {engine.get_lr()[0]:.3E} | global batch size: 8 |", flush=True)
    if micro % 200 == 0:
        engine.save_checkpoint("ckpts", tag=f"step{micro // 2}")
print("after training is done")
