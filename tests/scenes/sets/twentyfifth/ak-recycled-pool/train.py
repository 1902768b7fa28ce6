"""Small Llama on web text; the cleaner leaks, so its processes are replaced after eight tasks each."""
import multiprocessing as mp
import os
import random
import sys
import time

from tqdm import tqdm

VOCAB, SEQ, BATCH, STEPS = 160, 32, 8, 320
done = 0


def clean(seed):
    """One batch of cleaned rows. Runs in the pool."""
    global done
    if done == 0:
        print(f"cleaner pid {os.getpid()} started", file=sys.stderr, flush=True)
    done += 1
    rng = random.Random(seed)
    rows = []
    for _ in range(BATCH):
        v, row = rng.randrange(VOCAB), []
        for _ in range(SEQ):
            row.append(v)
            v = (v * 3 + rng.choice((1, 2, 7))) % VOCAB if rng.random() < 0.92 else rng.randrange(VOCAB)
        rows.append(row)
    if done == 8:
        print(f"WARNING cleaner pid {os.getpid()} exits: memory limit for workers reached, {done} tasks done",
              file=sys.stderr, flush=True)
    return rows


def main():
    pool = mp.get_context("fork").Pool(2, maxtasksperchild=8)
    import torch                                            # not needed in the first cleaners
    from transformers import LlamaConfig, LlamaForCausalLM
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = LlamaForCausalLM(LlamaConfig(vocab_size=VOCAB, hidden_size=64, intermediate_size=128, num_hidden_layers=2,
                                         num_attention_heads=2, num_key_value_heads=2, max_position_embeddings=SEQ))
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
    bar = tqdm(total=STEPS, desc="llama-web", mininterval=2.0)
    for step in range(1, STEPS + 1):
        x = torch.tensor(pool.apply(clean, (step,)))
        loss = model(input_ids=x, labels=x).loss
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(0.3)
        bar.update(1)
        bar.set_postfix(loss=f"{loss.item():.3f}")
        if step % 80 == 0:
            model.save_pretrained("out")
    pool.terminate()
    bar.close()
    print("done, last loss %.4f" % loss.item())


if __name__ == "__main__":
    main()
