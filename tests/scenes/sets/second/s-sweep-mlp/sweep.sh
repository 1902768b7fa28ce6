#!/bin/bash
export OMP_NUM_THREADS=1
i=0
for lr in 0.003 0.001 0.0003; do
    for width in 32 64; do
        i=$((i + 1))
        mkdir -p runs/$i
        cat > runs/$i/config.json <<EOF
{"lr": $lr, "width": $width, "seed": 1, "schedule": {"steps": [8, 14]}}
EOF
        echo "=== run $i/6: lr=$lr width=$width"
        python train.py runs/$i/config.json 2>&1 | tee runs/$i/log.txt
    done
done
echo "=== sweep complete: $i runs"
