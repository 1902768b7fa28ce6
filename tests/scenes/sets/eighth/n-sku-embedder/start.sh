#!/bin/bash
# entry point of the box: limit the memory as the pod spec has it, then run the job
export OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1
MEM_LIMIT=${MEM_LIMIT:-640M}
own=$(awk -F: '$2 ~ /(^|,)memory(,|$)/ {print $3}' /proc/self/cgroup)
if [ -d /sys/fs/cgroup/memory ] && [ -n "$own" ]; then
  CG=/sys/fs/cgroup/memory$own/sku-$$
  [ -d "/sys/fs/cgroup/memory$own" ] || CG=/sys/fs/cgroup/memory/sku-$$
  mkdir -p "$CG" && echo "$MEM_LIMIT" > "$CG/memory.limit_in_bytes"
else
  CG=/sys/fs/cgroup/sku-$$
  mkdir -p "$CG" && echo "$MEM_LIMIT" > "$CG/memory.max" && echo 0 > "$CG/memory.swap.max" 2>/dev/null
fi
echo "[entrypoint] $(date -u +%FT%TZ) memory limit $MEM_LIMIT, starting embed.py"
( echo $BASHPID > "$CG/cgroup.procs"; exec python embed.py --epochs 6 )
rc=$?
rmdir "$CG" 2>/dev/null
echo "[entrypoint] $(date -u +%FT%TZ) embed.py exit status $rc"
exit $rc
