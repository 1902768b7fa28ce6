"""用网上抓取的图片训练鸟类分类器（小模型）。坏图跳过，不中断训练。"""
import os
os.environ.setdefault("OMP_NUM_THREADS", "1")
import io, logging, random, socket, sys, time, urllib.request
from pathlib import Path
import numpy as np
import torch
from PIL import Image, UnidentifiedImageError
from torch import nn
from torch.utils.data import DataLoader, Dataset

logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(asctime)s [%(levelname)s] %(message)s")
torch.set_num_threads(1)
torch.manual_seed(0)
ROOT = Path("photos")


def crawl(n=240):
    """模拟一次抓取的结果：少量文件被截断或根本不是图片。"""
    r, g = random.Random(3), np.random.default_rng(3)
    ROOT.mkdir(exist_ok=True)
    for i in range(n):
        c = i % 3
        a = g.integers(0, 120, (28, 28, 3))
        a[..., c] += 100
        buf = io.BytesIO()
        Image.fromarray(a.astype("uint8")).save(buf, "JPEG")
        data = buf.getvalue()
        u = r.random()
        data = data[: len(data) // 3] if u < 0.03 else b"<html><body>403 Forbidden</body></html>" if u < 0.06 else data
        (ROOT / f"{c}_{i:04d}.jpg").write_bytes(data)


def fetch_labels(tries=3):
    for k in range(1, tries + 1):
        try:
            return urllib.request.urlopen("http://127.0.0.1:9/labels.txt", timeout=2).read().decode().split()
        except OSError as err:
            logging.warning("下载标签失败（第 %d/%d 次）：%s，2 秒后重试", k, tries, err)
            time.sleep(2)
    logging.warning("无法连接标签服务器，改用本地缓存")
    return ["麻雀", "喜鹊", "翠鸟"]


class Photos(Dataset):
    def __init__(self, files):
        self.files = files

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        f = self.files[i]
        try:
            a = np.asarray(Image.open(f).convert("RGB").resize((24, 24)), "float32") / 255
        except (UnidentifiedImageError, OSError) as err:
            logging.error("图片损坏，跳过 %s：%s: %s", f.name, type(err).__name__, err)
            return self[(i + 1) % len(self)]
        return torch.as_tensor(a).permute(2, 0, 1), int(f.name[0])


if __name__ == "__main__":
    crawl()
    names = fetch_labels()
    files = sorted(ROOT.glob("*.jpg"))
    random.Random(0).shuffle(files)
    dl = DataLoader(Photos(files[:200]), 10, shuffle=True, num_workers=2)
    va = DataLoader(Photos(files[200:]), 20)
    net = nn.Sequential(nn.Conv2d(3, 8, 3, 2), nn.ReLU(), nn.Conv2d(8, 16, 3, 2), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 3))
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    logging.info("类别：%s，训练图片 %d 张", "、".join(names), 200)
    for ep in range(1, 13):
        tot = 0.0
        for k, (x, y) in enumerate(dl, 1):
            loss = nn.functional.cross_entropy(net(x), y)
            opt.zero_grad(); loss.backward(); opt.step()
            tot += loss.item()
            time.sleep(0.14)
            if k % 10 == 0:
                logging.info("第 %d 轮 第 %d 步 损失 %.4f", ep, k, tot / k)
        with torch.no_grad():
            hit = sum((net(x).argmax(1) == y).sum().item() for x, y in va)
        logging.info("第 %d 轮结束：平均损失 %.4f，验证准确率 %.1f%%", ep, tot / k, 100 * hit / 40)
        torch.save(net.state_dict(), "bird_last.pt")
    logging.info("训练完成")
