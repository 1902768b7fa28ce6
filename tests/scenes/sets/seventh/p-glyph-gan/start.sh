#!/bin/bash
# the provider may take the machine away (SIGKILL); one restart from the newest file
export OMP_NUM_THREADS=1
for try in 1 2; do
    python glyphgan.py --steps 400 &
    echo $! > glyphgan.pid
    wait $!
    rc=$?
    [ $rc = 0 ] && break
    echo "start.sh: glyphgan.py exit code $rc (try $try)"
    sleep 8
done
exit $rc
