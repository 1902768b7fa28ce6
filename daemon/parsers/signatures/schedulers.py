"""Signatures of a run that was ended from outside: by schedulers, spot markets, clusters.

Wordings: Slurm, submitit, PBS, LSF, Grid Engine, Flux, HTCondor, Kubernetes, AWS, Google
Cloud, Azure, SkyPilot, Ray, Kaggle.
"""

from __future__ import annotations

from .form import Signature

SCHEDULERS: tuple[Signature, ...] = (
    Signature(  # sge
        "sge-time-limit",
        "slurm_time_limit",
        r"\bjob \d+(?:\.\d+)? exceed(?:s|ed) job hard limit \"h_rt\"",
        source="Grid Engine, source/daemons/execd (messages of the execution daemon)",
    ),
    Signature(
        "time-limit",
        "slurm_time_limit",
        r"\bDUE TO TIME LIMIT\b"
        r"|\b(?:Job)?State\s*[:=]\s*TIMEOUT\b"
        r"|Ended, Run time \S+, TIMEOUT"
        r"|\bJob has exceeded its time limit"
        r"|\bPBS: job killed: (?:walltime|cput) .{0,40}exceeded limit"
        r"|\bTERM_(?:RUN|CPU)LIMIT: job killed"
        r"|exceeded hard wallclock time"
        r"|exceeded hard run-?time limit"
        r"|this job is timed-out"
        r"|Job not requeued because: timed-out"
        r"|^middlewatch: saved at its time limit: job \d"
        r"|^middlewatch: the time ends \("
        r"|resource allocation expired"
        r"|exceeded the max(?:imum)? allowed execution duration"
        r"|\bjob (?:\S+ )?exceeded (?:its |the )?(?:wall ?(?:clock ?)?time|time limit|run ?time limit)"
        r"|\bDeadlineExceeded\b.{0,60}\bJob was active longer than"
        r"|\bJob was active longer than specified deadline",
        source="slurm, submitit core/job_environment.py, PBS mom, IBM Spectrum LSF, Grid Engine, Flux, kubernetes Job",
    ),
    Signature(
        "pod-taken-away",
        "preempted",
        r"^middlewatch: SIGTERM: the cluster takes this pod away",
        source="the first process of a pod of middlewatch launch",
    ),
    Signature(
        "preempted",
        "preempted",
        r"CANCELLED AT .{0,60} ?DUE TO (?:PREEMPTION|JOB REQUEUE)"
        r"|(?i:\bjob (?:\S+ )?(?:was |is |has been |got )?preempted\b)"
        r"|(?i:\b(?:received|got|detected) (?:a )?(?:spot )?preemption (?:signal|notice|notification|event))"
        r"|(?i:\b(?:spot|instance|node|vm|pod|tpu|cluster|worker|machine)\b.{0,40}(?<!nce group )\b(?:"
        r"(?:was|is|been|got) preempted\b"
        r"|(?<!on )(?<!on a )(?<!for )(?<!for a )(?<!upon )(?<!upon a )(?<!until )(?<!every )(?:preemption notice|interruption (?:notice|warning))(?! (?:handl|poll|check|listen|watch))"
        r"|will be (?:reclaimed|preempted|terminated by the provider)"
        r"|interrupted by the provider"
        r"|reclaimed by))"
        r"|\bcompute\.instances\.preempted"
        r"|\bTERM_PREEMPT: "
        r"|\bspot[- ]?(?:instance )?interruption (?:notice|warning|payload) received"
        r"|\bSpot interruption payload received"
        r"|(?:Instance|Node) is going to be interrupted in"
        r"|\bEventType\W{1,4}Preempt\b"
        r"|\bTaintManagerEviction\b"
        r"|Pod was terminated in response to imminent node shutdown"
        r"|\bPreempted by .{1,60} on node"
        r"|\b[Jj]ob[Ss]tate\s*[:=]\s*PREEMPTED\b"
        r"|\b(?i:node|instance|vm|pod|job|machine|worker) \S{0,40} ?(?:is|are) being (?:preempted|reclaimed)\b"
        r"|\bNodePreemptedError\b"
        r"|\boutbid\b.{0,40}(?:instance|stopp|paus)"
        r"|(?:instance|contract).{0,40}\boutbid\b"
        r"|[Rr]eached preemption sync point",
        source="slurm, submitit, LSF, EC2 and GCE and Azure metadata, kubernetes node shutdown manager and taint manager, ray, jax",
    ),
    Signature(
        "node-gone",
        "preempted",
        r"^(?!.*low on resource: (?!pids|cpu))(?:.*?)(?:\bNodeNotReady\b"
        r"|[Nn]ode \S+ status is now: NodeNotReady"
        r"|\bNode is not ready\b"
        r"|\bEvicted\b.{0,20}(?:kubelet|Pod\b|pod/)"
        r"|The node was low on resource: (?:pids|cpu)"
        r"|Job was evicted\."
        r"|\bNodeShutdown\b"
        r"|\bUnexpectedAdmissionError\b)",
        severity="warning",
        source="kubernetes node lifecycle controller and kubelet, HTCondor",
    ),
    Signature(
        "cancelled",
        "slurm_cancelled",
        r"(?:(?:JOB|STEP) \S+ (?:ON \S+ )?|slurm.{0,80})CANCELLED AT (?!.{0,60}DUE TO (?:TIME LIMIT|PREEMPTION|JOB REQUEUE))"
        r"|\bscancel: (?:.{0,40}signal|Terminating job)"
        r"|\b(?:Job)?State\s*[:=]\s*(?:CANCELLED|NODE_FAIL)\b"
        r"|Ended, Run time \S+, CANCELLED"
        r"|salloc: Job allocation \d+ has been revoked"
        r"|\bTERM_(?:OWNER|ADMIN|FORCE_OWNER|FORCE_ADMIN): job killed"
        r"|PBS: job killed: (?:node|job deleted)"
        r"|qdel: .{0,40}deleted"
        r"|has (?:deleted|registered) job \d+(?: for deletion)?$"
        r"|Job was (?:aborted|removed) by the user"
        r"|^(?:\d{3} .{10,60})?\bJob was aborted\."
        r"|\bvia condor_rm\b"
        r"|job was cancelled by (?:the )?user",
        source="slurm src/slurmd/slurmstepd, contribs/seff, IBM Spectrum LSF, Grid Engine, HTCondor",
    ),
    Signature(  # slurm
        "step-aborted",
        "slurm_cancelled",
        r"srun: Job step aborted: Waiting up to \d+ seconds"
        r"|srun: Force Terminated (?:job|Step)"
        r"|srun: launch/slurm: _step_signal: Terminating"
        r"|srun: Terminating (?:StepId|job step)",
        role="confirmation",
        severity="info",
        fatal=False,
        source="slurm src/srun: printed for every early end of a step, whatever its reason",
    ),
)
