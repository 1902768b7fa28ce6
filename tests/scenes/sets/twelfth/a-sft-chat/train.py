import json, time
import torch
from model import GPT

BLOCK, BATCH, LR, EPOCHS, LOG = 128, 4, 6e-4, 3, 5
torch.manual_seed(1)
torch.set_num_threads(1)


def encode(row):
    p, a = row["prompt"].encode(), row["answer"].encode()
    ids = (p + a)[:BLOCK]
    labels = ([-100] * len(p) + list(a))[:BLOCK]
    return list(ids), labels


def collate(rows):
    enc = [encode(r) for r in rows]
    n = max(len(i) for i, _ in enc)
    x = torch.tensor([i + [0] * (n - len(i)) for i, _ in enc])
    y = torch.tensor([l + [-100] * (n - len(l)) for _, l in enc])
    return x, y


rows = [json.loads(l) for l in open("chats.jsonl")]
model = GPT(256, BLOCK)
opt = torch.optim.AdamW(model.parameters(), lr=LR)
print(f"model {sum(p.numel() for p in model.parameters())/1e3:.0f}k params, {len(rows)} chats, batch {BATCH}", flush=True)
step, t0, seen = 0, time.time(), 0
for epoch in range(EPOCHS):
    for i in range(0, len(rows), BATCH):
        x, y = collate(rows[i:i + BATCH])
        _, loss = model(x, y)
        opt.zero_grad()
        loss.backward()
        gn = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        time.sleep(0.15)
        step += 1
        seen += x.numel()
        if step % LOG == 0:
            dt = time.time() - t0
            print(f"epoch {epoch} step {step} loss {loss.item():.4f} gnorm {gn:.3f} tok/s {seen/dt:.0f}", flush=True)
            t0, seen = time.time(), 0
    torch.save(model.state_dict(), f"sft_epoch{epoch}.pt")
    print(f"saved sft_epoch{epoch}.pt", flush=True)
