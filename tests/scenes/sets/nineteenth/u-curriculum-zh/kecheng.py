import time, torch
from torch import nn
torch.set_num_threads(1); torch.manual_seed(0)
net = nn.GRU(8, 48, batch_first=True); emb = nn.Embedding(10, 8); out = nn.Linear(48, 10)
ps = [*net.parameters(), *emb.parameters(), *out.parameters()]
opt = torch.optim.Adam(ps, 5e-3)
bu = 0
for jd, L in enumerate([2, 3, 5, 8], 1):
    print(f"【阶段 {jd}/4】序列长度 {L}，开始训练")
    zs = 0
    for k in range(90):
        x = torch.randint(0, 10, (64, L)); y = x.sum(1) % 10 if L < 4 else x.max(1).values
        loss = nn.functional.cross_entropy(out(net(emb(x))[0][:, -1]), y)
        opt.zero_grad(); loss.backward(); nn.utils.clip_grad_norm_(ps, 1.); opt.step(); bu += 1
        time.sleep(.1)
        if bu % 10 == 0:
            with torch.no_grad():
                zq = (out(net(emb(x))[0][:, -1]).argmax(1) == y).float().mean().item()
            print(f"步数 {bu:4d}  损失 {loss.item():.4f}  准确率 {zq:.2%}  学习率 5.0e-03")
            if zq > .9:
                print("  准确率已达标，进入下一阶段"); break
    torch.save({"net": net.state_dict(), "out": out.state_dict(), "步数": bu}, f"jieduan{jd}.pt")
    print(f"  已保存 jieduan{jd}.pt")
print("训练完成")
