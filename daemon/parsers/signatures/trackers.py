"""Signatures of experiment trackers that lose their server or cannot write.

Wordings: W&B, MLflow, Neptune, Comet, ClearML, SwanLab, TensorBoard. A tracker's trouble is
seldom the run's end: nothing here is fatal.
"""

from __future__ import annotations

from .form import Signature

TRACKERS: tuple[Signature, ...] = (
    Signature(
        "tracker-network",
        "tracker_network_error",
        r"host='(?:api\.wandb\.ai|[\w.-]*(?:neptune\.ai|comet\.com|comet\.ml|clear\.ml|swanlab\.cn)|\w+\.mlflow\.\S{1,60})'|Communication with Neptune failed|NeptuneConnectionLostException|No connection to Neptune server"
        r"|wandb: (?:ERROR|WARNING) (?:.{0,60}(?:Error while calling W&B API|timed out|Dropped streaming file chunk|Fatal error while uploading data|Error uploading|failed to upload|Failed to (?:connect|reach)))"
        r"|wandb: (?:(?:ERROR|WARNING) )?.{0,40}(?:Network error (?!resolved)|CommError|[Ee]rror communicating with (?:wandb|backend)|[45]\d\d encountered \()|wandb(?:\.\w+)*\.(?:CommError|AuthenticationError)|Network error \(\w+\), entering retry loop|(?:wandb(?:\.\w+)*\.)?ServiceStartTimeoutError|Timed out waiting for wandb service to start"
        r"|MlflowException: API request to \S+ failed|Experiencing connection interruptions. Will try to reestablish communication with Neptune|COMET (?:ERROR|WARNING): (?:.{0,40}(?:[Cc]onnection|connect |reach |upload|Streaming error|report experiment status|Heartbeat)|Run will not be logged)|Failed to establish connection to Comet|clearml\S* .{0,40}(?:Action failed <5\d\d|Retrying \(Retry)|swanlab: .{0,40}(?:[Nn]etwork error|connection failed)|Failed to connect to Aim Server",
        (
            "network error (",
            "commerror",
            "wandb.ai",
            "neptune.ai",
            "comet.com",
            "comet.ml",
            "clear.ml",
            "swanlab.cn",
            "mlflow.",
            "with neptune failed",
            "neptuneconnectionlost",
            "to neptune server",
            "connection interruptions",
            "wandb: error",
            "wandb: warning",
            "wandb: network",
            "encountered (",
            "error communicating with",
            "mlflowexception",
            "authenticationerror",
            "servicestarttimeout",
            "wandb service to start",
            "comet error",
            "comet warning",
            "connection to comet",
            "clearml",
            "swanlab: ",
            "to aim server",
        ),
        (
            "wandb: Network error (ReadTimeout), entering retry loop.",
            "wandb.errors.CommError: Run initialization has timed out",
            "wandb.sdk.service.service.ServiceStartTimeoutError: Timed out waiting for wandb service to start after 30.0 seconds.",
            "wandb: ERROR Dropped streaming file chunk (see wandb/debug-internal.log)",
            'wandb: 429 encountered ({"error":"rate limit exceeded"}), retrying request',
            "wandb: WARNING Fatal error while uploading data. Some run data will not be synced",
            "Communication with Neptune failed.",
            "Experiencing connection interruptions. Will try to reestablish communication with Neptune.",
            "mlflow.exceptions.MlflowException: API request to http://tracker.example/api failed with exception",
            "COMET ERROR: Failed to report experiment status",
            "Failed to connect to Aim Server. Have you forgot to run `aim server` command?",
            "HTTPSConnectionPool(host='api.wandb.ai', port=443): Read timed out.",
        ),
        (
            "wandb: Network error resolved after 0:00:12, resuming normal operation.",
            "Communication with Neptune restored!",
            "wandb: WARNING Symlinked 3 files into the W&B run directory",
            "wandb: WARNING (User provided step: 12 is less than current step: 13). Dropping entry.",
            "COMET INFO: Uploading metrics, params, and assets to Comet before program termination",
            "wandb: View run at https://wandb.ai/team/project",
        ),
        severity="warning",
        fatal=False,
        frameworks=("wandb", "mlflow", "neptune", "comet", "clearml", "swanlab"),
        source="wandb sdk/lib/retry.py and filestream, neptune operation processors, mlflow rest_utils.py, comet_ml",
    ),
    Signature(
        "tracker-write",
        "tracker_write_failed",
        r"Could not open events file|events_writer\.cc:\d+\] ?.{0,40}(?:Write failed|Failed to (?:flush|write))|wandb: ERROR .{0,120}(?:No space left|[Dd]isk quota|[Ii]nput/output|Permission denied|file data was not synced|failed to save)"
        r"|[Ff]ailed to (?:flush|write|append to) .{0,60}(?:events to|events? file|tfevents)|tfevents\S*'?; (?:No space|Input/output|Disk quota|Stale)|\[Errno \d+\] .{1,60}: '\S*(?:tfevents|/wandb/)\S*'|Failed to log (?:metrics?|params?|artifacts?|system metrics)\b.{0,20}[:!]|Unexpected error occurred in Neptune background thread",
        (
            "open events file",
            "events_writer",
            "wandb: error",
            "events to",
            "event file",
            "events file",
            "tfevents",
            "/wandb/",
            "failed to log ",
            "neptune background thread",
        ),
        (
            "E tensorflow/core/util/events_writer.cc:108] Write failed because file could not be opened.",
            "Could not open events file: runs/a/events.out.tfevents.1: Resource exhausted",
            "OSError: [Errno 116] Stale file handle: 'runs/a/events.out.tfevents.17'",
            "WARNING mlflow.system_metrics: Failed to log system metrics: connection closed",
            "Unexpected error occurred in Neptune background thread: Killing Neptune asynchronous thread.",
        ),
        (
            "writing events file to runs/1",
            "wandb: ERROR api_key not configured (no-tty)",
            "mkdir runs/wandb/a",
            "saved events to runs/a/events.out.tfevents.17",
        ),
        severity="warning",
        fatal=False,
        frameworks=("tensorboard", "wandb", "mlflow", "neptune"),
        source="tensorflow events_writer.cc, mlflow system_metrics, neptune async_operation_processor.py",
    ),
)
