#!/bin/sh
# Each phase is a job of its own; it starts when the one before has ended with success. If that
# fails, Slurm takes those behind it out of the queue (--kill-on-invalid-dep).
set -eu
cd "$(dirname "$0")"
job=$(sbatch --parsable 1-broad.sbatch)
echo "${job%%;*}"
job=$(sbatch --parsable --dependency="afterok:${job%%;*}" 2-cooldown.sbatch)
echo "${job%%;*}"
