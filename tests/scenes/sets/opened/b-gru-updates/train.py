import os
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
import torch

torch.manual_seed(8)
vocab = 64
emb = torch.nn.Embedding(vocab, 32)
rnn = torch.nn.GRU(32, 64, batch_first=True)
head = torch.nn.Linear(64, vocab)
params = [*emb.parameters(), *rnn.parameters(), *head.parameters()]
opt = torch.optim.Adam(params, lr=3e-3)
for k, p in [("emb", emb), ("gru", rnn), ("head", head)]:
    print(f"{k:5s} {sum(q.numel() for q in p.parameters()):8d}")
print("training 1000 updates", flush=True)
for it in range(1, 1001):
    start = torch.randint(0, vocab, (16, 1))
    seq = (start + 3 * torch.arange(25)) % vocab
    h, _ = rnn(emb(seq[:, :-1]))
    loss = torch.nn.functional.cross_entropy(head(h).flatten(0, 1), seq[:, 1:].flatten())
    opt.zero_grad()
    loss.backward()
    gn = torch.nn.utils.clip_grad_norm_(params, 1.0)
    opt.step()
    time.sleep(0.12)
    if it % 4 == 0:
        print(f"update {it} | loss {loss.item():.4f} | gnorm {gn:.3f} | ppl {loss.exp().item():.2f}", flush=True)
    if it % 250 == 0:
        torch.save([emb.state_dict(), rnn.state_dict(), head.state_dict()], "gru.pt")
print("finished", flush=True)
