#!/bin/bash
#JOB --name w2v-pretrain --mem 520M --cpus 1
cg=/sys/fs/cgroup/memory/w2v-$$
mkdir -p $cg
echo 520M > $cg/memory.limit_in_bytes
export OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1 HF_HUB_OFFLINE=1
( echo $BASHPID > $cg/cgroup.procs
  exec accelerate launch --cpu --num_processes 1 --num_machines 1 --mixed_precision no --dynamo_backend no pretrain.py )
rc=$?
sleep 1
rmdir $cg
exit $rc
