import os, time
import torch, torch.nn as nn

torch.set_num_threads(1)
torch.manual_seed(5)
G = nn.Sequential(nn.Linear(20, 64), nn.LeakyReLU(0.1), nn.Linear(64, 64), nn.Tanh())
D = nn.Sequential(nn.Linear(64, 64), nn.LeakyReLU(0.1), nn.Linear(64, 1))
og, od = (torch.optim.AdamW(m.parameters(), 1e-3, betas=(0.8, 0.99)) for m in (G, D))
scaler = torch.amp.GradScaler("cpu", init_scale=2.0**22, growth_interval=40)
w = torch.randn(20, 64) / 4


def save(step):
    print(f"Saving checkpoint to ckpt/g_{step:08d} and ckpt/do_{step:08d} ...", flush=True)
    os.makedirs("ckpt", exist_ok=True)
    torch.save(G.state_dict(), f"ckpt/g_{step:08d}.tmp")
    time.sleep(14)                       # upload of the pair to the (slow) NAS
    os.rename(f"ckpt/g_{step:08d}.tmp", f"ckpt/g_{step:08d}")
    torch.save({"og": og.state_dict(), "od": od.state_dict()}, f"ckpt/do_{step:08d}")
    print(f"Checkpoint {step} saved (14.0s)", flush=True)


skipped = 0
for step in range(1, 331):
    mel = torch.randn(16, 20)
    real = torch.tanh(mel @ w)
    with torch.autocast("cpu", dtype=torch.float16):
        fake = G(mel)
    fake = fake.float()
    ld = ((D(real) - 1) ** 2).mean() + (D(fake.detach()) ** 2).mean()
    od.zero_grad(); ld.backward(); od.step()
    mel_err = (fake - real).abs().mean()
    lg = ((D(fake) - 1) ** 2).mean() + 45 * mel_err
    og.zero_grad()
    before = scaler.get_scale()
    scaler.scale(lg).backward()
    scaler.unscale_(og)
    scaler.step(og)
    scaler.update()
    if scaler.get_scale() < before:
        skipped += 1
        print(f"Gradient overflow. Skipping step, loss scaler reducing loss scale to {scaler.get_scale():.6g}", flush=True)
    time.sleep(0.15)
    if step % 5 == 0:
        print(f"Steps : {step:d}, Gen Loss Total : {lg.item():4.3f}, Disc Loss : {ld.item():4.3f}, Mel-Spec. Error : {mel_err.item():4.3f}, s/b : 0.150", flush=True)
    if step % 150 == 0:
        save(step)
print(f"done, {skipped} steps skipped by the scaler", flush=True)
