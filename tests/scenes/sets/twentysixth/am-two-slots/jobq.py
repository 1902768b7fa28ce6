"""A small job queue in sqlite: jobs are leased to workers; a lease that runs out goes back to the others."""
import argparse
import sqlite3
import subprocess
import time

LEASE_S = 75
DB = "queue.db"


def db():
    c = sqlite3.connect(DB, timeout=10, isolation_level=None)
    c.execute("create table if not exists jobs(id integer primary key, cmd text, state text, owner text, lease real)")
    return c


def say(msg):
    print(time.strftime("%Y-%m-%d %H:%M:%S"), msg, flush=True)


def claim(c, me):
    now = time.time()
    c.execute("begin immediate")
    row = c.execute("select id, cmd, owner from jobs where state='queued' or (state='running' and lease < ?) "
                    "order by id limit 1", (now,)).fetchone()
    if row:
        c.execute("update jobs set state='running', owner=?, lease=? where id=?", (me, now + LEASE_S, row[0]))
    c.execute("commit")
    return row


def work(me):
    c = db()
    idle = 0
    while True:
        row = claim(c, me)
        if not row:
            left = c.execute("select count(*) from jobs where state='running'").fetchone()[0]
            if not left:
                say(f"{me} queue is empty, leaving")
                return
            time.sleep(2)
            continue
        jid, cmd, _ = row
        say(f"{me} claimed job {jid}: {cmd}")
        rc = subprocess.call(cmd, shell=True)
        c.execute("update jobs set state=? where id=?", ("done" if rc == 0 else "failed", jid))
        say(f"{me} job {jid} ended with {rc}")


p = argparse.ArgumentParser()
p.add_argument("what", choices=["add", "work"])
p.add_argument("arg")
a = p.parse_args()
if a.what == "add":
    db().execute("insert into jobs(cmd, state) values(?, 'queued')", (a.arg,))
else:
    work(a.arg)
