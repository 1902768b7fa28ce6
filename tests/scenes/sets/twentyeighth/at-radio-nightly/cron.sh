#!/bin/bash
# what the crontab holds: */1 * * * * cd /srv/radio && flock -n .lock ./nightly.sh >> nightly.log 2>&1 || echo skipped
line() { flock -n .lock bash nightly.sh >> nightly.log 2>&1 || echo "$(date '+%F %T') nightly: previous run still active, skipped (rc=1)" >> nightly.log; }
line &
first=$!
sleep 60; line
sleep 60; line
wait $first
