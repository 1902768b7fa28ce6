#!/bin/bash
rm -f dash.port
python -u dash.py > dash.log 2>&1 &
d=$!
python viewer.py &
v=$!
python train.py
rc=$?
sleep 6                                          # the last picture
kill $d $v
wait $d $v 2>/dev/null
exit $rc
