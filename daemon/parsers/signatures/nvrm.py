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
_XID_ATOMS = ("nvrm: xid", "xidcriticalerror", "xid ", "xid:", "xid=")

NVRM: tuple[Signature, ...] = (
    Signature(
        "nvrm-xid",
        "xid",
        _XID.format(_OTHER, _OTHER, _OTHER, _OTHER),
        _XID_ATOMS,
        (
            "NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, GPU has fallen off the bus.",
            "[ 12.5] NVRM: Xid (PCI:0000:41:00): 48, An uncorrectable double bit error (DBE) has been detected on GPU.",
            "NVRM: Xid (0000:03:00): 13, 0001 00000000 000090c0 00001b0c 00000000 00000000",
            "NVRM: Xid (PCI:0000:41:00): 31, pid=4711, name=python, Ch 00000008, intr 00000000. MMU Fault",
            "NVRM: Xid (PCI:0000:18:00): 149, NETIR_LINK_EVT Fatal XC0 i0 Link 00",
            "XidCriticalError: Xid=48 on Device=GPU-1; marking device as unhealthy.",
            "Detected XID error 79 on GPU 3",
            "GPU 3 XID 94: contained memory error",
        ),
        (
            "NVRM: loading NVIDIA UNIX x86_64 Kernel Module 550.54",
            "NVRM: Xid (PCI:0000:3b:00): 63, Row Remapper: New row marked",
            "transaction xid 4711 committed",
            "no XID errors on GPU 0",
        ),
        frameworks=("kernel",),
        source="NVIDIA Xid catalogue; open-gpu-kernel-modules; k8s-device-plugin health.go; DCGM",
    ),
    Signature(
        "nvrm-xid-noted",
        "xid",
        _XID.format(_NOTED, _NOTED, _NOTED, _NOTED),
        _XID_ATOMS,
        (
            "NVRM: Xid (PCI:0000:3b:00): 63, Row Remapper: New row marked for remapping",
            "NVRM: Xid (PCI:0000:3b:00): 92, High single-bit ECC error rate",
        ),
        (
            "NVRM: Xid (PCI:0000:3b:00): 64, Row Remapper: failed",
            "NVRM: Xid (PCI:0000:3b:00): 163, a later code",
        ),
        severity="warning",
        fatal=False,
        frameworks=("kernel",),
        source="NVIDIA Xid catalogue",
    ),
    Signature(
        "nvswitch-noted",
        "nvswitch",
        r"\bSXid(?:s)? \(PCI:[0-9a-fA-F:.]+\): (?P<xid>\d+)(?!\d|,? Fatal)|[Nn][Vv][Ss]witch non-?fatal error (?P<xid_fm>\d+)",
        ("sxid", "nvswitch non"),
        (
            "nvidia-nvswitch0: SXid (PCI:0000:c3:00.0): 20009, Non-fatal, Link 28 RX Short Error Rate",
            "nvidia-nvswitch3: SXid (PCI:0000:04:00.0): 22013, Severity 0 Engine instance 44 Sub-engine instance 00",
            "detected NVSwitch non-fatal error 12028 on fid 0 on NVSwitch pci bus id 00000000:C3:00.0",
        ),
        ("nvidia-nvswitch3: SXid (PCI:0000:c5:00.0): 20034, Fatal, Link 30 LTSSM Fault Up",),
        severity="warning",
        fatal=False,
        frameworks=("kernel",),
        source="NVIDIA Fabric Manager user guide, SXid errors",
    ),
    Signature(
        "nvswitch-fatal",
        "nvswitch",
        r"\bSXid(?:s)? \(PCI:[0-9a-fA-F:.]+\): (?P<xid>\d+),? Fatal|[Nn][Vv][Ss]witch fatal error (?P<xid_fm>\d+)|nvidia-nvswitch\d*: (?!SXid).{0,60}(?:[Ff]atal|[Ff]ailed to|error)|(?:nv-fabricmanager|nvidia-fabricmanager\S*?|fabricmanager)(?:\[\d+\])?: .{0,120}(?:[Ff]atal [Ee]rror|Failed with result|trunk (?:port|link) failure)|[Ff]abric ?[Mm]anager .{0,60}NVLink .{0,20}failure",
        ("sxid", "nvswitch fatal", "nvidia-nvswitch", "fabricmanager", "fabric manager"),
        (
            "nvidia-nvswitch3: SXid (PCI:0000:c5:00.0): 20034, Fatal, Link 30 LTSSM Fault Up",
            "nvidia-nvswitch1: SXid (PCI:0000:06:00.0): 11001, Fatal, Link 04 ingress invalid command",
            "detected NVSwitch fatal error 20034 on fid 0 on NVSwitch pci bus id 00000000:C3:00.0 physical id 4 port 30",
            "systemd[1]: nvidia-fabricmanager.service: Failed with result 'exit-code'.",
        ),
        (
            "nvidia-nvswitch0: using MSI",
            "nvidia-nvswitch0: SXid (PCI:0000:c3:00.0): 20009, Non-fatal, Link 28 RX Short Error Rate",
            "nv-fabricmanager[611]: Successfully configured all the available NVSwitches to route GPU NVLink traffic.",
        ),
        frameworks=("kernel",),
        source="NVIDIA Fabric Manager user guide, SXid errors; nvswitch kernel module",
    ),
    Signature(
        "gpu-off-bus",
        "gpu_lost",
        r"\bGPU is lost\b|fallen off the bus|NVML_ERROR_GPU_IS_LOST|Unable to determine the device handle for (?:GPU|gpu)|NVRM: .{0,60}(?:RmInitAdapter failed|rm_init_adapter failed)|NVRM: The NVIDIA probe routine failed"
        r"|\bamdgpu\b.{0,80}(?:device lost from bus|GPU reset\(\d+\) failed|GPU reset end with ret = -)|marking device as unhealthy: .{0,40}GPU|GPU\S* .{0,40}\bno longer (?:visible|responding) (?:to|on) the (?:driver|bus)",
        (
            "gpu is lost",
            "off the bus",
            "gpu_is_lost",
            "the device handle",
            "rminitadapter",
            "rm_init_adapter",
            "probe routine failed",
            "device lost",
            "gpu reset",
            "as unhealthy",
            "no longer visible",
            "no longer responding",
        ),
        (
            "Unable to determine the device handle for GPU 0000:41:00.0: GPU is lost.  Reboot the system",
            "NVRM: GPU 0000:3b:00.0: GPU has fallen off the bus.",
            "NVRM: GPU 0000:3b:00.0: RmInitAdapter failed! (0x26:0x56:1463)",
            "NVRM: rm_init_adapter failed, device minor number 3",
            "NVRM: The NVIDIA probe routine failed for 1 device(s).",
            "amdgpu 0000:c3:00.0: amdgpu: device lost from bus!",
        ),
        (
            "GPU 0 is at 61 C",
            "the car fell off the road",
            "NVRM: GPU at PCI:0000:3b:00: GPU-1",
            "amdgpu 0000:c3:00.0: amdgpu: GPU reset(1) succeeded!",
        ),
        source="NVIDIA kernel modules, nvidia-smi, NVML; linux drivers/gpu/drm/amd",
    ),
)
