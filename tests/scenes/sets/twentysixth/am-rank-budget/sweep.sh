#!/bin/bash
# same wall time for each rank, then take the best
export OMP_NUM_THREADS=1
mkdir -p adapters
for r in 2 8 32; do
    echo "[sweep] $(date +%T) rank $r, budget 48 s"
    timeout --signal=INT --kill-after=30 48 python lora.py --r $r
    rc=$?
    case $rc in
        124) echo "[sweep] $(date +%T) rank $r: exit 124, its budget is used up, as intended" ;;
        0)   ;;
        *)   echo "[sweep] rank $r failed with $rc"; exit $rc ;;
    esac
done
python - <<'P'
import glob, json
rows = [json.loads(open(f).readlines()[-1]) for f in glob.glob("rank*.jsonl")]
best = min(rows, key=lambda r: r["eval_loss"])
json.dump(best, open("best.json", "w"))
print("[sweep] best:", best)
P
