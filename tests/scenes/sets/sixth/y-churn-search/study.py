"""The study is one SQLite file, which all workers share."""
import json
import sqlite3
import sys

import numpy as np

DB = "study.db"


def connect():
    return sqlite3.connect(DB)


def create(n_short=24, n_long=14, seed=0):
    rng = np.random.default_rng(seed)
    con = connect()
    con.execute("CREATE TABLE trial (id INTEGER PRIMARY KEY, params TEXT, steps INTEGER, state TEXT, value REAL)")
    con.execute("CREATE TABLE report (trial INTEGER, step INTEGER, value REAL)")
    for k in range(n_short + n_long):
        params = {"lr": float(10 ** rng.uniform(-3, -0.5)), "hidden": int(rng.choice([8, 16, 32])), "l2": float(10 ** rng.uniform(-6, -2))}
        con.execute("INSERT INTO trial (params, steps, state) VALUES (?, ?, 'waiting')",
                    (json.dumps(params), 10 if k < n_short else 120))
    con.commit()
    con.close()
    print(f"study created: {n_short} short trials, then {n_long} long ones", flush=True)


def claim(con):
    con.execute("BEGIN IMMEDIATE")
    row = con.execute("SELECT id, params, steps FROM trial WHERE state = 'waiting' ORDER BY id LIMIT 1").fetchone()
    if row:
        con.execute("UPDATE trial SET state = 'running' WHERE id = ?", (row[0],))
    con.commit()
    return row and (row[0], json.loads(row[1]), row[2])


def report(con, trial, step, value):
    con.execute("INSERT INTO report VALUES (?, ?, ?)", (trial, step, value))


def finish(con, trial, value):
    con.execute("UPDATE trial SET state = 'complete', value = ? WHERE id = ?", (value, trial))
    con.commit()


if __name__ == "__main__" and sys.argv[1:] == ["create"]:
    create()
