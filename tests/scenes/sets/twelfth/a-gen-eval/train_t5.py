import json, random, sys, time
import torch
from transformers import T5Config, T5ForConditionalGeneration

random.seed(0)
torch.manual_seed(0)
torch.set_num_threads(1)


def example():
    d = {random.choice(["name", "age", "city", "job"]): random.randint(1, 99) for _ in range(random.randint(1, 2))}
    return " ".join(f"{k} is {v}" for k, v in d.items()), json.dumps(d)


def enc(texts, n=36):
    return torch.tensor([[ord(c) % 128 for c in t[:n]] + [1] + [0] * (n - len(t[:n])) for t in texts])


model = T5ForConditionalGeneration(T5Config(vocab_size=128, d_model=64, d_kv=16, d_ff=128, num_layers=2, num_heads=4, dropout_rate=0.0,
                                            decoder_start_token_id=0, pad_token_id=0, eos_token_id=1))
opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
dev = [example() for _ in range(64)]
print("args:", {"epochs": 2, "steps": 130, "gen": "greedy"}, flush=True)
for epoch in (1, 2):
    model.train()
    for step in range(1, 131):
        src, tgt = zip(*(example() for _ in range(8)))
        y = enc(tgt)
        loss = model(input_ids=enc(src), labels=y.masked_fill(y == 0, -100)).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        opt.zero_grad()
        time.sleep(0.1)
        if step % 10 == 0:
            sys.stdout.write(f"epoch {epoch} step {step:3d} loss {loss.item():.4f}\n")
            sys.stdout.flush()
    torch.save(model.state_dict(), f"t5_ep{epoch}.pt")
    print(f"epoch {epoch} trained, evaluating on {len(dev)} generations ...", flush=True)
    model.eval()
    t0, bad, exact = time.time(), 0, 0
    for src, tgt in dev:
        with torch.no_grad():
            ids = model.generate(input_ids=enc([src]), max_new_tokens=36, do_sample=False)[0].tolist()
        time.sleep(0.45)  # the checker
        text = "".join(chr(i) for i in ids if i > 1)
        try:
            exact += json.loads(text) == json.loads(tgt)
        except json.JSONDecodeError as e:
            bad += 1
            first = f"{type(e).__name__}: {e}" if bad == 1 else first
    print(f"eval epoch {epoch}: exact {exact}/{len(dev)}, error rate {1 - exact/len(dev):.3f}, "
          f"failed to parse {bad}{' (first: ' + first + ')' if bad else ''}, {time.time()-t0:.0f} s", flush=True)
print("finished.", flush=True)
