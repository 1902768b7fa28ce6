while [ ! -e models/STOP ]; do
  python -u serve.py
  rc=$?
  echo "$(date '+%F %T') supervise: serve.py exited with $rc, restarting"
  sleep 1
done
echo "$(date '+%F %T') supervise: stopped"
