set -euo pipefail
export OMP_NUM_THREADS=1
echo "cache volume: $(df -h --output=avail cache | tail -1 | tr -d ' ') available"
python -u extract_and_fit.py --cache cache --clips 4000
echo "ok"
