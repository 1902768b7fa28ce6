#!/bin/bash
rm -f bucket.port
python bucket.py &
b=$!
python train.py
rc=$?
kill $b
wait $b 2>/dev/null
exit $rc
