"""Signatures of GPUs in the kernel log and in node monitors: Xid, SXid, lost cards.

Wordings: NVIDIA kernel modules, fabric manager, DCGM, the Kubernetes device plugin, amdgpu.
"""

from __future__ import annotations

from ..xids import HARMLESS
from .form import Signature

_XID = (
    r"NVRM: Xid \((?:PCI:)?(?P<gpu_bus>[0-9a-fA-F:.]+)(?: GPU-I:\d+)?\): "
    r"(?P<xid>{})\b|\bXidCriticalError: Xid=(?P<xid_plugin>{})\b"
    r"|\b(?:XID|Xid) (?:[Ee]rror )?(?:code )?[:=]? ?(?P<xid_named>{})\b.{{0,60}}\bGPU\b|\bGPU\b.{{0,60}}\b(?:XID|Xid)(?: [Ee]rrors?)?(?: code)? ?[:=]? ?(?P<xid_gpu>{})\b"
)
_NOTED = "(?:" + "|".join(str(code) for code in HARMLESS) + ")"
_OTHER = rf"(?!{_NOTED}\b)\d{{1,3}}"

NVRM: tuple[Signature, ...] = (
    Signature(  # kernel
        "nvrm-xid",
        "xid",
        _XID.format(_OTHER, _OTHER, _OTHER, _OTHER),
        source="NVIDIA Xid catalogue; open-gpu-kernel-modules; k8s-device-plugin health.go; DCGM",
    ),
    Signature(  # kernel
        "nvrm-xid-noted",
        "xid",
        _XID.format(_NOTED, _NOTED, _NOTED, _NOTED),
        severity="warning",
        fatal=False,
        source="NVIDIA Xid catalogue",
    ),
    Signature(  # kernel
        "nvswitch-noted",
        "nvswitch",
        r"\bSXid(?:s)? \(PCI:[0-9a-fA-F:.]+\): (?P<xid>\d+)(?!\d|,? Fatal)"
        r"|[Nn][Vv][Ss]witch non-?fatal error (?P<xid_fm>\d+)",
        severity="warning",
        fatal=False,
        source="NVIDIA Fabric Manager user guide, SXid errors",
    ),
    Signature(  # kernel
        "nvswitch-fatal",
        "nvswitch",
        r"\bSXid(?:s)? \(PCI:[0-9a-fA-F:.]+\): (?P<xid>\d+),? Fatal"
        r"|[Nn][Vv][Ss]witch fatal error (?P<xid_fm>\d+)"
        r"|nvidia-nvswitch\d*: (?!SXid).{0,60}(?:[Ff]atal|[Ff]ailed to|error)"
        r"|(?:nv-fabricmanager|nvidia-fabricmanager\S*?|fabricmanager)(?:\[\d+\])?: .{0,120}(?:[Ff]atal [Ee]rror|Failed with result|trunk (?:port|link) failure)"
        r"|[Ff]abric ?[Mm]anager .{0,60}NVLink .{0,20}failure",
        source="NVIDIA Fabric Manager user guide, SXid errors; nvswitch kernel module",
    ),
    Signature(
        "gpu-off-bus",
        "gpu_lost",
        r"\bGPU is lost\b"
        r"|fallen off the bus"
        r"|NVML_ERROR_GPU_IS_LOST"
        r"|Unable to determine the device handle for (?:GPU|gpu)"
        r"|NVRM: .{0,60}(?:RmInitAdapter failed|rm_init_adapter failed)"
        r"|NVRM: The NVIDIA probe routine failed"
        r"|\bamdgpu\b.{0,80}(?:device lost from bus|GPU reset\(\d+\) failed|GPU reset end with ret = -)"
        r"|marking device as unhealthy: .{0,40}GPU"
        r"|GPU\S* .{0,40}\bno longer (?:visible|responding) (?:to|on) the (?:driver|bus)",
        source="NVIDIA kernel modules, nvidia-smi, NVML; linux drivers/gpu/drm/amd",
    ),
)
