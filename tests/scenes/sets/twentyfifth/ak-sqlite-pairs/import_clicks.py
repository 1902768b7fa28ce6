"""Importa los clics del dia en pairs.db (todo o nada, en una sola transaccion)."""
import os
import sqlite3

FEED = "clicks.feed"          # el portal escribe aqui su exportacion
if not os.path.exists(FEED):
    os.mkfifo(FEED)

con = sqlite3.connect("pairs.db", timeout=60, isolation_level=None)
con.execute("BEGIN EXCLUSIVE")
print("transaccion abierta, leyendo", FEED, flush=True)
n = 0
with open(FEED) as f:
    for line in f:
        pid, clicks = line.split()
        con.execute("UPDATE pairs SET clicks = clicks + ? WHERE id = ?", (int(clicks), int(pid)))
        n += 1
con.execute("COMMIT")
print(n, "clics importados")
