"""Signatures of experiment trackers that lose their server or cannot write.

Wordings: W&B, MLflow, Neptune, Comet, ClearML, SwanLab, TensorBoard. A trouble of a tracker
rarely ends the run, so nothing here is fatal.
"""

from __future__ import annotations

from .form import Signature

TRACKERS: tuple[Signature, ...] = (
    Signature(  # wandb, mlflow, neptune, comet, clearml, swanlab
        "tracker-network",
        "tracker_network_error",
        r"host='(?:api\.wandb\.ai"
        r"|[\w.-]*(?:neptune\.ai|comet\.com|comet\.ml|clear\.ml|swanlab\.cn)"
        r"|\w+\.mlflow\.\S{1,60})'"
        r"|Communication with Neptune failed"
        r"|NeptuneConnectionLostException"
        r"|No connection to Neptune server"
        r"|wandb: (?:ERROR|WARNING) (?:.{0,60}(?:Error while calling W&B API"
        r"|timed out"
        r"|Dropped streaming file chunk"
        r"|Fatal error while uploading data"
        r"|Error uploading"
        r"|failed to upload"
        r"|Failed to (?:connect|reach)))"
        r"|wandb: (?:(?:ERROR|WARNING) )?.{0,40}(?:Network error (?!resolved)"
        r"|CommError"
        r"|[Ee]rror communicating with (?:wandb|backend)"
        r"|[45]\d\d encountered \()"
        r"|wandb(?:\.\w+)*\.(?:CommError|AuthenticationError)"
        r"|Network error \(\w+\), entering retry loop"
        r"|(?:wandb(?:\.\w+)*\.)?ServiceStartTimeoutError"
        r"|Timed out waiting for wandb service to start"
        r"|MlflowException: API request to \S+ failed"
        r"|Experiencing connection interruptions. Will try to reestablish communication with Neptune"
        r"|COMET (?:ERROR|WARNING): (?:"
        r".{0,40}(?:[Cc]onnection|connect |reach |upload|Streaming error|report experiment status|Heartbeat)"
        r"|Run will not be logged)"
        r"|Failed to establish connection to Comet"
        r"|clearml\S* .{0,40}(?:Action failed <5\d\d|Retrying \(Retry)"
        r"|swanlab: .{0,40}(?:[Nn]etwork error|connection failed)"
        r"|Failed to connect to Aim Server",
        narrow=(
            "comet warning",
            "comet error",
        ),
        severity="warning",
        fatal=False,
        source="wandb sdk/lib/retry.py and filestream, neptune operation processors, mlflow rest_utils.py, comet_ml",
    ),
    Signature(  # tensorboard, wandb, mlflow, neptune
        "tracker-write",
        "tracker_write_failed",
        r"Could not open events file"
        r"|events_writer\.cc:\d+\] ?.{0,40}(?:Write failed|Failed to (?:flush|write))"
        r"|wandb: ERROR .{0,120}(?:No space left"
        r"|[Dd]isk quota"
        r"|[Ii]nput/output"
        r"|Permission denied"
        r"|file data was not synced"
        r"|failed to save)"
        r"|[Ff]ailed to (?:flush|write|append to) .{0,60}(?:events to|events? file|tfevents)"
        r"|tfevents\S*'?; (?:No space|Input/output|Disk quota|Stale)"
        r"|\[Errno \d+\] .{1,60}: '\S*(?:tfevents|/wandb/)\S*'"
        r"|Failed to log (?:metrics?|params?|artifacts?|system metrics)\b.{0,20}[:!]"
        r"|Unexpected error occurred in Neptune background thread",
        severity="warning",
        fatal=False,
        source="tensorflow events_writer.cc, mlflow system_metrics, neptune async_operation_processor.py",
    ),
)
