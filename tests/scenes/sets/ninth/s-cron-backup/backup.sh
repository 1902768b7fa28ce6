# in the background, so that the loop keeps its beat; the lock goes along
(
  echo "$(date '+%b %d %T') backup: start"
  for f in ckpt/*.npy; do
    [ -e "$f" ] || continue
    out="backup/$(basename "$f")"
    cmp -s "$f" "$out" || cp "$f" "$out"
  done
  sleep 8 # the other side takes its time to sync
  tar -czf backup/logs.tgz w2v.log cron.log
  echo "$(date '+%b %d %T') backup: done, $(du -sh backup | cut -f1)"
) &
