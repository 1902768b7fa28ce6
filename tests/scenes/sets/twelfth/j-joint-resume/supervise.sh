#!/bin/bash
# keeps the job alive through preemptions; the trainer resumes from run/last.pt
export OMP_NUM_THREADS=1
mkdir -p run stage
for try in $(seq 1 50); do
  echo "$(date '+%F %T') supervisor: start no. $try"
  setsid python -u -m avjoint run stage &
  wait_for=$!
  echo $wait_for > job.pid
  wait $wait_for
  rc=$?
  [ $rc = 0 ] && { echo "$(date '+%F %T') supervisor: done"; exit 0; }
  echo "$(date '+%F %T') supervisor: exit code $rc, next start in 4 s"
  sleep 4
done
exit 1
