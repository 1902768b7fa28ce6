"""缺陷检测: 从特征库 (sqlite) 逐批读取, SGDClassifier 增量训练."""
import fcntl
import os
import sqlite3
import time
from pathlib import Path

import joblib
import numpy as np
from sklearn.linear_model import SGDClassifier

STEPS, DIM = 2000, 32


def build():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(1200, DIM)).astype(np.float32)
    y = (x[:, :4].sum(1) + rng.normal(0, 1.5, len(x)) > 0).astype(int)
    db = sqlite3.connect("store.sqlite")
    db.execute("create table if not exists f (id integer primary key, x blob, y int)")
    db.executemany("insert or replace into f values (?,?,?)", [(i, v.tobytes(), int(t)) for i, (v, t) in enumerate(zip(x, y))])
    db.commit()
    return db


def read(db, lock, ids):
    """One batch under the shared lock of the store."""
    fcntl.flock(lock, fcntl.LOCK_SH)
    try:
        rows = db.execute(f"select x, y from f where id in ({','.join(map(str, ids))})").fetchall()
    finally:
        fcntl.flock(lock, fcntl.LOCK_UN)
    return np.stack([np.frombuffer(a, np.float32) for a, _ in rows]), np.array([b for _, b in rows])


def main():
    Path("pid").write_text(str(os.getpid()))
    db = build()
    rng = np.random.default_rng(1)
    clf = SGDClassifier(loss="log_loss", learning_rate="constant", eta0=0.002, random_state=0)
    with open("store.lock", "w") as lock:
        xv, yv = read(db, lock, range(1000, 1200))
        seen, t0 = 0, time.time()
        for step in range(1, STEPS + 1):
            a = time.time()
            x, y = read(db, lock, rng.integers(0, 1000, 32))
            wait = time.time() - a
            clf.partial_fit(x, y, classes=[0, 1])
            time.sleep(0.3)
            if step % 4 == 0:
                rate = 4 / (time.time() - t0)
                t0 = time.time()
                print(f"步 {step}/{STEPS} 验证准确率 {clf.score(xv, yv):.4f} 速度 {rate:.2f} 步/秒 读数据 {wait:.2f} 秒", flush=True)
            if step % 50 == 0:
                joblib.dump(clf, f"model_{step:05d}.joblib")
                print(f"已保存 model_{step:05d}.joblib", flush=True)


if __name__ == "__main__":
    main()
