import os
os.environ.setdefault("OMP_NUM_THREADS", "1")
import io
import math
import time
import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(1337)
out_dir = "out-shakes"
max_iters, log_interval, save_interval = 1200, 10, 60
n_embd, block, vocab = 192, 32, 65


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(vocab, n_embd)
        self.pos = nn.Parameter(torch.zeros(block, n_embd))
        layer = nn.TransformerEncoderLayer(n_embd, 4, 4 * n_embd, 0.0, batch_first=True, norm_first=True)
        self.body = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(n_embd, vocab)

    def forward(self, x):
        m = nn.Transformer.generate_square_subsequent_mask(x.size(1))
        return self.head(self.body(self.emb(x) + self.pos[: x.size(1)], mask=m, is_causal=True))


def get_batch():
    s = torch.randint(0, vocab, (4, 1))
    d = torch.randint(1, 4, (4, 1))
    t = (s + d * torch.arange(block + 1)) % vocab
    return t[:, :-1], t[:, 1:]


def write_slowly(data, path):
    # the volume is a network disk that takes about 1.7 MB/s
    with open(path, "wb") as f:
        for i in range(0, len(data), 1 << 19):
            f.write(data[i:i + (1 << 19)])
            f.flush()
            time.sleep(0.3)


open("train.pid", "w").write(str(os.getpid()))
os.makedirs(out_dir, exist_ok=True)
model = Net()
opt = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.95))
iter_num = 0
ckpt_path = os.path.join(out_dir, "ckpt.pt")
if os.path.exists(ckpt_path):
    print(f"Resuming training from {out_dir}", flush=True)
    ck = torch.load(ckpt_path, map_location="cpu")
    model.load_state_dict(ck["model"])
    opt.load_state_dict(ck["optimizer"])
    iter_num = ck["iter_num"]
else:
    print("Initializing a new model from scratch", flush=True)
print("number of parameters: %.2fM" % (sum(p.numel() for p in model.parameters()) / 1e6,), flush=True)
while iter_num <= max_iters:
    t0 = time.time()
    x, y = get_batch()
    loss = nn.functional.cross_entropy(model(x).flatten(0, 1), y.flatten())
    opt.zero_grad(set_to_none=True)
    loss.backward()
    opt.step()
    time.sleep(0.12)
    if iter_num % log_interval == 0:
        print(f"iter {iter_num}: loss {loss.item():.4f}, time {(time.time() - t0) * 1000:.2f}ms, mfu 0.41%", flush=True)
    iter_num += 1
    if iter_num % save_interval == 0:
        print(f"saving checkpoint to {out_dir} (iter {iter_num})", flush=True)
        buf = io.BytesIO()
        torch.save({"model": model.state_dict(), "optimizer": opt.state_dict(), "iter_num": iter_num}, buf)
        write_slowly(buf.getvalue(), ckpt_path)
