#!/bin/bash
# five regions, one after the other
nohup make all > queue.log 2>&1 < /dev/null &
