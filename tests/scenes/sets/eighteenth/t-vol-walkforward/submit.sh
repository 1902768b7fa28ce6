#!/bin/bash
# poor man's sbatch: run a job file in the foreground with the time that it asked for
file=$1
limit=$(sed -n 's/.*time=\([0-9:]*\).*/\1/p' "$file" | awk -F: '{print $1*3600+$2*60+$3}')
echo "submit: $file on $(hostname -s), limit ${limit}s"
exec timeout "$limit" bash "$file"
