# 人脸向量生成（先用 PCA 后的 32 维特征试跑）
import logging, time
import torch
import torch.nn as nn

logging.basicConfig(filename="gan.log", level=logging.INFO, format="%(asctime)s %(message)s", encoding="utf-8")


def mlp(i, o):
    return nn.Sequential(nn.Linear(i, 128), nn.LeakyReLU(0.2), nn.Linear(128, 128), nn.LeakyReLU(0.2), nn.Linear(128, o))


def main():
    torch.manual_seed(8)
    torch.set_num_threads(1)
    centers = 3.0 * torch.randn(6, 32)
    G, D = mlp(16, 32), mlp(32, 1)
    opt_g = torch.optim.SGD(G.parameters(), lr=0.02, momentum=0.5)
    opt_d = torch.optim.Adam(D.parameters(), lr=4e-3, betas=(0.5, 0.999))
    logging.info("开始训练：生成器参数 %d，判别器参数 %d", sum(p.numel() for p in G.parameters()),
                 sum(p.numel() for p in D.parameters()))
    for it in range(1, 2001):
        for _ in range(3):                                   # 判别器多走几步
            real = centers[torch.randint(0, 6, (64,))] + 0.3 * torch.randn(64, 32)
            fake = G(torch.randn(64, 16)).detach()
            p_real, p_fake = torch.sigmoid(D(real)), torch.sigmoid(D(fake))
            loss_d = -(torch.log(p_real + 1e-8) + torch.log(1 - p_fake + 1e-8)).mean()
            opt_d.zero_grad()
            loss_d.backward()
            opt_d.step()
        p = torch.sigmoid(D(G(torch.randn(64, 16))))
        loss_g = torch.log(1 - p + 1e-8).mean()              # 原始论文的极小极大形式
        opt_g.zero_grad()
        loss_g.backward()
        gn = nn.utils.clip_grad_norm_(G.parameters(), 10.0)
        opt_g.step()
        time.sleep(0.12)
        if it % 10 == 0:
            logging.info("迭代 %d 判别器损失 %.6f 生成器损失 %.6f 梯度范数 %.3e D(x) %.4f D(G(z)) %.6f", it,
                         loss_d.item(), loss_g.item(), gn.item(), p_real.mean().item(), p.mean().item())
        if it % 200 == 0:
            torch.save(G.state_dict(), "G_%05d.pt" % it)
            logging.info("已保存 G_%05d.pt", it)


if __name__ == "__main__":
    main()
