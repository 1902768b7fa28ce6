import logging, time
import torch
from transformers import GPT2Config, GPT2LMHeadModel
from docs import stream, write

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname).1s %(name)s: %(message)s", filename="train.log")
log = logging.getLogger("pretrain")
torch.manual_seed(0)
torch.set_num_threads(1)
write()
model = GPT2LMHeadModel(GPT2Config(vocab_size=256, n_positions=96, n_embd=64, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=0))
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
log.info("model has %d parameters", model.num_parameters())
src, step, total, t0 = stream(log), 0, 1500, time.time()
while step < total:
    x = torch.tensor([list(next(src).encode()[:96].ljust(96)) for _ in range(4)])
    loss = model(input_ids=x, labels=x).loss
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    opt.zero_grad()
    step += 1
    time.sleep(0.15)
    if step % 10 == 0:
        log.info("step %d/%d loss %.4f %.2f it/s", step, total, loss.item(), 10 / (time.time() - t0))
        t0 = time.time()
    if step % 100 == 0:
        torch.save({"model": model.state_dict(), "step": step}, "last.pt")
        log.info("checkpoint at step %d", step)
