#!/bin/bash
# nightly: train -> evaluate -> export -> swap the server
set -euo pipefail
export OMP_NUM_THREADS=1
PORT=$(python -c 'import socket; s=socket.socket(); s.bind(("127.0.0.1",0)); print(s.getsockname()[1])')
say() { echo "$(date '+%F %T') nightly: $*"; }
health() {
    for i in $(seq 1 30); do
        if python probe.py "$PORT"; then return 0; fi
        say "server not ready yet ($i/30), retry in 2s"
        sleep 2
    done
    return 1
}
say "stage 0: server with the model of yesterday on port $PORT"
python -u serve.py "$PORT" models/yesterday.npz & OLD=$!
health
say "stage 1: train"
python -u train.py --out models/today.npz
say "stage 2: evaluate"
python -u evaluate.py models/today.npz
say "stage 3: swap"
kill -TERM $OLD; wait $OLD || say "old server ended with $?"
python -u serve.py "$PORT" models/today.npz & NEW=$!
health
say "server is up with the model of today"
sleep 5
kill -TERM $NEW; wait $NEW || say "smoke test over, server ended with $?"
say "all stages done"
