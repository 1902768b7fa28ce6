# 古い帳簿のOCR：読めないページは記録して飛ばす
import io
import logging
import sys
import time

import numpy as np
from PIL import Image, ImageDraw
from sklearn.neural_network import MLPClassifier

logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(asctime)s %(levelname)s: %(message)s")
log = logging.getLogger("ocr")
rng = np.random.default_rng(12)
SHAPES = 6


def page(i):
    """one scanned cell as PNG bytes; the scanner's archive has some damaged ones"""
    k = int(rng.integers(0, SHAPES))
    im = Image.fromarray((rng.random((20, 20)) * 90).astype("uint8"))
    d = ImageDraw.Draw(im)
    for j in range(k + 1):
        d.line((3, 3 + 2 * j, 16, 3 + 3 * j), fill=220)
    b = io.BytesIO()
    im.save(b, "PNG")
    raw = b.getvalue()
    if i % 371 == 200:
        raw = raw[:len(raw) // 3]
    if i % 997 == 500:
        raw = b"\0" * len(raw)
    return raw, k


net = MLPClassifier((32,), learning_rate_init=2e-3, random_state=0)
skipped = i = 0
for step in range(1, 301):
    xs, ys = [], []
    while len(xs) < 16:
        raw, k = page(i)
        i += 1
        try:
            xs.append(np.asarray(Image.open(io.BytesIO(raw)).convert("L"), np.float32).ravel() / 255)
            ys.append(k)
        except (OSError, SyntaxError) as e:
            skipped += 1
            log.warning("ページ %05d を読めません（%s）。飛ばします。累計 %d 件（%.2f%%）", i, e, skipped, 100 * skipped / i)
    net.partial_fit(np.stack(xs), ys, classes=np.arange(SHAPES))
    if step % 5 == 0:
        log.info("ステップ %d/300 損失 %.4f 正解率 %.3f", step, net.loss_, net.score(np.stack(xs), ys))
    if step % 75 == 0:
        np.savez("ocr_weights.npz", *net.coefs_)
        log.info("ステップ %d: ocr_weights.npz に保存", step)
    time.sleep(0.35)
log.info("学習終了。読めなかったページ %d / %d", skipped, i)
