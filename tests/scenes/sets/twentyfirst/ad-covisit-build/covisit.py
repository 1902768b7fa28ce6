# 商品共现矩阵：逐日累计，供召回模型使用
import logging
import time

import numpy as np

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
log = logging.getLogger("covisit")
rng = np.random.default_rng(0)
ITEMS, DAYS = 1400, 180
total = np.zeros((ITEMS, ITEMS), np.float64)
daily = []

log.info("开始构建共现矩阵，共 %d 天，商品数 %d", DAYS, ITEMS)
for day in range(1, DAYS + 1):
    m = np.zeros((ITEMS, ITEMS))
    for _ in range(300):
        s = np.minimum(rng.zipf(1.4, 12) - 1, ITEMS - 1)
        m[np.ix_(s, s)] += 1.0
    total = total * 0.98 + m
    daily.append(m / max(m.sum(), 1.0))
    time.sleep(0.5)
    log.info("第 %d/%d 天 会话=300 非零=%d", day, DAYS, np.count_nonzero(total))
    if day % 25 == 0:
        np.save("covisit_latest.npy", total.astype(np.float16))
        log.info("已保存 covisit_latest.npy（第 %d 天）", day)
trend = np.stack(daily[-28:]).mean(0)
np.savez_compressed("covisit_final.npz", total=total, trend=trend)
log.info("完成")
