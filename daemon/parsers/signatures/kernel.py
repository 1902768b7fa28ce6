"""Signatures of the kernel log: block devices, file systems, memory hardware, panics.

Wordings: Linux block layer, NVMe, SCSI, ATA, md, device-mapper, ext4, XFS, btrfs, NFS, CIFS,
Lustre, BeeGFS, Ceph, ZFS, EDAC, MCE, GHES, rasdaemon, BMC event logs.
"""

from __future__ import annotations

from .form import Signature

KERNEL: tuple[Signature, ...] = (
    Signature(  # kernel
        "block-device",
        "disk_error",
        r"(?:blk_update_request|print_req_error|end_request): .{0,40}(?:error|reset)"
        r"|\bI/O error,? (?:on )?dev(?:ice)? \w+"
        r"|[Bb]uffer I/O error on dev"
        r"|\blost (?:async )?page write\b"
        r"|critical (?:medium|target|space allocation|nexus) error"
        r"|attempt to access beyond end of device"
        r"|rejecting I/O to (?:offline|dead) device"
        r"|\bnvme\d*n?\d*(?: nvme\d+)?: (?:I/O (?:tag )?\d+ .{0,40}timeout"
        r"|controller is down"
        r"|Device not ready"
        r"|Removing (?:after probe|from probe)"
        r"|resetting controller"
        r"|frozen state error"
        r"|Abort status"
        r"|.{0,60}I/O Error)"
        r"|\bnvme nvme\d+: .{0,40}(?:failed to set|reset failed)"
        r"|@ LBA \d+, \d+ blocks, .{1,60}\(sct "
        r"|\bI/O Error \(sct "
        r"|\bmd: super_written gets error"
        r"|\bAdd\. Sense: (?:Unrecovered read|Write error|Logical unit failure|Internal target failure)"
        r"|no available path - failing I/O"
        r"|\bata\d+(?:\.\d+)?: (?:failed command"
        r"|exception Emask"
        r"|SError: \{"
        r"|hard resetting link"
        r"|disabled"
        r"|revalidation failed"
        r"|COMRESET failed)"
        r"|\b(?:sd|sr) [\d:]+ \[\w+\] .{0,40}(?:Sense Key : (?:Medium|Hardware) Error"
        r"|FAILED Result: hostbyte"
        r"|Unaligned partial completion)"
        r"|\bUnrecovered read error\b"
        r"|\bSense Key ?: (?:Medium|Hardware) Error"
        r"|\bmd/?(?:raid\w*)?:\w+: (?:Disk failure on"
        r"|read error not correctable"
        r"|.{0,40}uncorrectable"
        r"|not enough operational)"
        r"|device-mapper: multipath: .{0,20}Failing path"
        r"|FAILED SMART self-check"
        r"|Device: /dev/\S+.{0,60}(?:Currently unreadable|Offline uncorrectable) (?:\(pending\) )?sectors"
        r"|SMART overall-health self-assessment test result: FAILED",
        source="linux block/blk-core.c, drivers/nvme, drivers/scsi, drivers/ata, drivers/md; smartmontools",
    ),
    Signature(  # kernel
        "file-system",
        "fs_error",
        r"\b(?:EXT[234]|F2FS|FAT|exFAT|NILFS|GFS2)-?fs error"
        r"|EXT[234]-fs \(\S+\): .{0,60}(?:[Aa]borting|Remounting|I/O error|error loading journal)"
        r"|EXT[234]-fs warning \(device \S+\): .{0,60}(?:error|I/O)"
        r"|Aborting journal on device"
        r"|[Rr]emounting filesystem read-only"
        r"|[Dd]etected aborted journal"
        r"|JBD2: .{0,60}(?:[Ee]rror|[Aa]bort)"
        r"|\bXFS \([\w-]+\): (?:.{0,40}(?:[Cc]orruption|I/O [Ee]rror|force_shutdown|has been shut down|[Ss]hutting down)"
        r"|Internal error"
        r"|Unmount and run"
        r"|Please u(?:n)?mount"
        r"|xfs_log_force: error"
        r"|writeback error"
        r"|(?:empty )?log (?:mount\S*|check) .{0,12}failed"
        r"|.{0,60}returned error -)"
        r"|\bXFS: Internal error"
        r"|BTRFS (?:error|critical)"
        r"|BTRFS(?: \w+)?:? .{0,40}(?:csum failed|forced readonly|parent transid verify failed)"
        r"|\bzio .{0,80}error=\d"
        r"|[Pp]ool '\S+' .{0,40}(?:uncorrectable I/O failure|has been suspended)"
        r"|SQUASHFS error"
        r"|\[Errno 117\]"
        r"|\(os error 117\)"
        r"|(?i:structure needs cleaning)",
        source="linux fs/ext4, fs/jbd2, fs/xfs, fs/btrfs, fs/f2fs; OpenZFS",
    ),
    Signature(  # kernel
        "file-system-remembers",
        "fs_error",
        r"EXT4-fs \(\S+\): (?:error count since last fsck: [1-9]|(?:initial|last) error at time )",
        role="confirmation",
        severity="warning",
        fatal=False,
        source="linux fs/ext4/super.c: repeated once a day until the file system is checked",
    ),
    Signature(  # kernel
        "network-file-system",
        "fs_error",
        r"\bnfs: server \S+ (?:not responding|timed out)"
        r"|NFS: .{0,60}(?:failed|error)"
        r"|nfs4?_reclaim\w* .{0,40}(?:error|failed)"
        r"|\bLustreError: "
        r"|\bLustre: .{0,120}(?:Connection to \S+ .{0,40}was lost|evicted by|Request sent has (?:timed out|failed))"
        r"|CIFS(?: VFS)?: .{0,80}(?:has not responded|[Ee]rror|reconnect)"
        r"|\bcifs_\w+: .{0,60}error"
        r"|\b(?:libceph|ceph): .{0,80}(?:socket error|hung|caps stale|session lost|corrupt)"
        r"|[Bb]ee[Gg][Ff][Ss]\b.{0,120}(?:[Uu]nable to (?:connect|reach|communicate)|[Cc]ommunication error|timed out)"
        r"|\bmmfsd?\b.{0,60}(?:SGPanic|unmount(?:ed)? by|[Ff]ile system panic)",
        severity="warning",
        fatal=False,
        source="linux net/sunrpc, fs/nfs, fs/smb, net/ceph; lustre ptlrpc; BeeGFS client",
    ),
    Signature(  # kernel
        "blocked-task",
        "fs_error",
        r"INFO: task \S.{0,40}:\d+ blocked for more than \d+ seconds"
        r"|blocked in I/O wait for more than",
        role="confirmation",
        severity="info",
        fatal=False,
        source="linux kernel/hung_task.c: a task that waits for a device, a file system or a driver",
    ),
    Signature(  # kernel
        "memory-uncorrected",
        "mce",
        r"\bEDAC .{0,40}: (?:\d+ )?UE\b"
        r"|Hardware error from APEI.{0,80}fatal"
        r"|\[Hardware Error\]: .{0,60}(?:[Uu]ncorrected|[Ff]atal)"
        r"|\bmce: [Uu]ncorrected "
        r"|[Mm]achine [Cc]heck: Processor context corrupt"
        r"|Kernel panic .{0,30}[Mm]achine check"
        r"|Machine Check(?: Event| Exception)?: \w{1,2} Bank \d+: [abefABEF][0-9a-fA-F]{15}\b"
        r"|due to hardware memory corruption"
        r"|Memory failure: 0x[0-9a-f]+: .{0,40}[Kk]ill"
        r"|severity: fatal\b"
        r"|event severity: (?:fatal|recoverable)"
        r"|\bUncorrectable (?:ECC|[Mm]emory [Ee]rror)(?: \(|\s*\|)"
        r"|PCIe Bus Error: severity=Uncorrected \(Fatal\)"
        r"|mc_event: \d+ (?:Uncorrected|Fatal) error",
        source="linux drivers/edac, arch/x86/kernel/cpu/mce (bit 61 of the status: uncorrected), drivers/acpi/apei, mm/memory-failure.c; ipmitool sel",
    ),
    Signature(  # kernel
        "memory-corrected",
        "mce",
        r"\[Hardware Error\]: (?:Machine check events logged"
        r"|CPU \d+: Machine Check"
        r"|Corrected"
        r"|Deferred"
        r"|event severity: corrected"
        r"|Hardware error from APEI)"
        r"|\bEDAC .{0,40}: (?:\d+ )?CE\b"
        r"|Machine Check(?: Event)?: \w{1,2} Bank \d+: [89cdCD][0-9a-fA-F]{15}\b"
        r"|mc_event: \d+ Corrected error"
        r"|Hardware event\. This is not a software error"
        r"|[Cc]orrected memory errors? (?:threshold|rate|count) .{0,20}exceeded"
        r"|\| Correctable ECC",
        severity="warning",
        fatal=False,
        source="linux drivers/edac, arch/x86/kernel/cpu/mce, drivers/acpi/apei; mcelog; rasdaemon",
    ),
    Signature(  # kernel
        "kernel-panic",
        "kernel_panic",
        r"[Kk]ernel panic(?: - not syncing|:)"
        r"|\brts panic!"
        r"|\b(?:general protection fault"
        r"|double fault"
        r"|divide error"
        r"|invalid opcode"
        r"|stack segment)(?:, .{0,60}|: [0-9a-f]{4})? ?\[#\d"
        r"|BUG: (?:unable to handle (?:kernel|page)|kernel NULL pointer)"
        r"|Unable to handle kernel (?:paging|NULL)"
        r"|\bOops(?: -[^:]{0,30})?: [0-9a-fA-F]{1,16}\b(?: \[#|$)"
        r"|\bkernel BUG at "
        r"|Kernel stack is corrupted"
        r"|Fixing recursive fault"
        r"|Attempted to kill init!",
        source="linux kernel/panic.c, arch/*/mm/fault.c, lib/bug.c",
    ),
    Signature(  # kernel
        "kernel-stuck",
        "kernel_panic",
        r"\bsoft lockup - CPU#\d+ stuck for"
        r"|[Ww]atchdog detected hard LOCKUP"
        r"|\brcu(?:_\w+)?: .{0,30}(?:self-)?detected stalls?"
        r"|\bINFO: rcu_\w+ (?:self-)?detected stalls?",
        severity="warning",
        fatal=False,
        source="linux kernel/watchdog.c, kernel/rcu/tree_stall.h",
    ),
)
