# all candidates, two at once
export OMP_NUM_THREADS=1
xargs -a candidates.txt -P 2 -L 1 python -u fraud.py
rc=$?
echo "all candidates through, rc=$rc"
exit $rc
