# the job of a colleague that is on the box already
exec 9>box.lock
flock 9
exec sleep "$1"
