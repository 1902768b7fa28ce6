import multiprocessing as mp, time
def main():
    import torch
    from torch import nn
    from feed import encode
    torch.set_num_threads(1); torch.manual_seed(0)
    ctx = mp.get_context("spawn"); q = ctx.Queue(maxsize=4)
    feeder = ctx.Process(target=encode, args=(q,), name="encoder", daemon=True); feeder.start()
    emb = nn.Embedding(200, 16); out = nn.Linear(17, 200)
    opt = torch.optim.Adam([*emb.parameters(), *out.parameters()], 1e-2)
    step, ema = 0, None
    while (rows := q.get()) is not None:
        items = torch.tensor([i for i, _ in rows]); price = torch.tensor([[p] for _, p in rows])
        loss = nn.functional.cross_entropy(out(torch.cat([emb(items[:, :-1]).mean(1), price], 1)), items[:, -1])
        opt.zero_grad(); loss.backward(); opt.step()
        step += 1; ema = loss.item() if ema is None else .95 * ema + .05 * loss.item()
        if step % 10 == 0: print(f"{time.strftime('%H:%M:%S')} step={step} loss={ema:.4f} lr=1.0e-02", flush=True)
        time.sleep(.12)
    feeder.join(); print("end of feed")
if __name__ == "__main__":
    main()
