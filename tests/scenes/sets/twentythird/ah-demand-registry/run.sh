#!/bin/bash
# registry daemon, publisher of new models, then the training
mkdir -p models
python registryd.py > registryd.log 2>&1 &
echo $! > registryd.pid
python publish.py > publish.log 2>&1 &
PUB=$!
python train.py
RC=$?
kill $PUB $(cat registryd.pid) 2>/dev/null
exit $RC
