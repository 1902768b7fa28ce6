import json, logging, time, urllib.error, urllib.request
import torch, torch.nn as nn
from accelerate import Accelerator

logging.basicConfig(level=logging.INFO, format="%(asctime)s - %(levelname)s - %(name)s - %(message)s")
log, net = logging.getLogger("train"), logging.getLogger("bucket.client")
acc = Accelerator(cpu=True)
torch.manual_seed(0)
BASE = f"http://127.0.0.1:{open('port').read()}/interleaved/"


def fetch(n, tries=5):
    for k in range(1, tries + 1):
        try:
            return urllib.request.urlopen(BASE + str(n), timeout=10).read().decode()
        except urllib.error.HTTPError as e:
            net.warning("GET part-%05d failed: %s, retry %d/%d in %.1fs", n, e, k, tries, 0.5 * k)
            time.sleep(0.5 * k)
    raise RuntimeError(f"part {n} not available after {tries} tries")


def samples():
    for n in range(16):
        for i, line in enumerate(fetch(n).splitlines()):
            try:
                row = json.loads(line)
            except json.JSONDecodeError as e:
                net.error("part-%05d row %d: skipping invalid sample (JSONDecodeError: %s)", n, i, e)
                continue
            yield torch.tensor(row["text"]), torch.tensor(row["image"])


class Mixer(nn.Module):
    def __init__(self):
        super().__init__()
        self.e, self.i, self.r, self.o = nn.Embedding(200, 48), nn.Linear(64, 48), nn.GRU(48, 64, batch_first=True), nn.Linear(64, 200)

    def forward(self, t, im):
        x = torch.cat([self.i(im)[:, None], self.e(t[:, :-1])], 1)
        return self.o(self.r(x)[0])


model = Mixer()
opt = torch.optim.AdamW(model.parameters(), 2e-3)
model, opt = acc.prepare(model, opt)
buf, step = [], 0
for s in samples():
    buf.append(s)
    if len(buf) < 4:
        continue
    t, im = (torch.stack(z) for z in zip(*buf))
    buf = []
    loss = nn.functional.cross_entropy(model(t, im).flatten(0, 1), t.flatten())
    opt.zero_grad(); acc.backward(loss); opt.step()
    time.sleep(0.2)
    step += 1
    if step % 10 == 0:
        log.info("step %d - loss %.4f", step, loss.item())
torch.save(acc.unwrap_model(model).state_dict(), "mixer.pt")
log.info("stream exhausted after %d steps, model saved", step)
