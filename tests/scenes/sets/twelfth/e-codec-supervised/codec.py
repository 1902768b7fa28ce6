import glob, os, sys, time, wave, array, logging
import torch, torch.nn as nn

logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(asctime)s | %(levelname).1s | %(message)s", datefmt="%m-%d %H:%M:%S")
torch.set_num_threads(1)
torch.manual_seed(4)
FRAME = 320


def load(path):
    with wave.open(path) as w:
        ch, n = w.getnchannels(), w.getnframes()
        pcm = torch.tensor(array.array("h", w.readframes(n)), dtype=torch.float32) / 32768
    return pcm.view(n, ch).T


net = nn.Sequential(nn.Conv1d(1, 16, 16, 8, 4), nn.ELU(), nn.Conv1d(16, 16, 8, 4, 2), nn.ELU(),
                    nn.ConvTranspose1d(16, 16, 8, 4, 2), nn.ELU(), nn.ConvTranspose1d(16, 1, 16, 8, 4))
opt = torch.optim.Adam(net.parameters(), 1e-3)
files = sorted(glob.glob("wav/*.wav"))
first = 0
if os.path.exists("codec.last.pt"):
    st = torch.load("codec.last.pt")
    net.load_state_dict(st["net"]); opt.load_state_dict(st["opt"]); first = st["step"]
    logging.info("resumed from codec.last.pt at step %d", first)
logging.info("%d files, starting at step %d", len(files), first)
for step in range(first, 2000):
    x = torch.stack([load(files[(step * 2 + i) % len(files)]) for i in range(2)])
    y = net(x)
    loss = (y - x[..., : y.shape[-1]]).abs().mean()
    opt.zero_grad(); loss.backward(); opt.step()
    time.sleep(0.2)
    if (step + 1) % 5 == 0:
        logging.info("step %d si_l1 %.5f", step + 1, loss.item())
    if (step + 1) % 20 == 0:
        torch.save({"net": net.state_dict(), "opt": opt.state_dict(), "step": step + 1}, "codec.last.pt")
        logging.info("saved codec.last.pt (step %d)", step + 1)
