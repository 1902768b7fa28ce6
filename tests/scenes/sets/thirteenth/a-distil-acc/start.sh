# the admins ask us to cap jobs on this node, it is shared
export OMP_NUM_THREADS=1 MALLOC_ARENA_MAX=2
ulimit -v ${VLIMIT_KB:-3400000}
exec python distil.py
