#!/bin/bash
exec nohup bash pipeline.sh > pipeline.log 2>&1
