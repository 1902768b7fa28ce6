#!/bin/bash
# all stages one after the other; each has its own port (the firewall knows 29616 to 29619)
export OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1
BASE=29616

python exporter.py $((BASE + 1)) &
EXPORTER=$!
trap 'kill $EXPORTER 2>/dev/null' EXIT
trap 'exit 143' TERM INT HUP

stage() {   # number size steps [weights]
  local n=$1 size=$2 steps=$3 init=$4 port=$((BASE + $1 - 1))
  echo "[run_stages] $(date +%T) stage $n on port $port"
  until python -m torch.distributed.run --nproc_per_node 2 --master_addr 127.0.0.1 --master_port $port \
        train.py --stage $n --size $size --steps $steps ${init:+--init $init}; do
    echo "[run_stages] $(date +%T) stage $n ended with an error, trying again in 6 s"
    sleep 6
  done
}

stage 1 16 55
stage 2 32 300 weights/stage1.pt
stage 3 48 300 weights/stage2.pt
echo "[run_stages] all stages done"
