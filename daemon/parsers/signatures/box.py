"""Signatures of storage as programs see it: full disks, quotas, descriptors, failing I/O.

Wordings: libc in several languages, Python, Rust, Go, Java, Node, HDF5, Lustre, Kubernetes.
"""

from __future__ import annotations

from .form import Signature

BOX: tuple[Signature, ...] = (
    Signature(
        "inodes",
        "inode_exhausted",
        r"(?i:\b(?:no (?:more )?(?:free )?inodes?\b(?! (?:issue|problem|limit|quota))"
        r"|out of (?:free )?inodes\b"
        r"|inodes? (?:limit|quota|usage|count)?\s?(?:has been |have been |was |is |are )?(?:exceeded|exhausted|depleted|used up)"
        r"|exhausted (?:all )?(?:the |its |free )?inodes"
        r"|0 (?:free )?inodes (?:free|left|available|remaining)))"
        r"|(?i:inode quota exceeded"
        r"|exceeded (?:the |your )?(?:inode|file count) (?:quota|limit)"
        r"|inode(?:s| usage)?\b.{0,12}\b100 ?%"
        r"|100 ?% (?:of )?inodes"
        r"|no space left.{0,24}\binodes?\b)"
        r"|low on resource: (?:node|image|container)fs\.?inodes"
        r"|low on resource: inodes"
        r"|attempting to reclaim inodes"
        r"|EXT4-fs .{0,60}: no free inodes",
        source="linux fs/ext4/ialloc.c, kubelet eviction manager, lustre, storage guides of clusters",
    ),
    Signature(
        "disk-full",
        "disk_full",
        r"^(?!.*(?:/dev/shm|</?torch_|shared memory|'/psm_|posix_fallocate|\binodes?\b|(?i:file watchers|inotify))).*(?:"
        r"(?i:\bno space left on device\b)"
        r"|\[Errno 28\]"
        r"|\(os error 28\)"
        r"|\[WinError 112\]"
        r"|\bENOSPC\b"
        r"|errno[ =:]{1,3}28\b"
        r"|设备上没有空间"
        r"|設備上沒有空間"
        r"|装置上已无多余空间"
        r"|デバイスに空き領域がありません"
        r"|장치에 남은 공간이 없음"
        r"|На устройстве не осталось свободного места"
        r"|Auf dem Gerät ist kein Speicherplatz mehr verfügbar"
        r"|[Aa]ucun espace disponible sur le périphérique"
        r"|Aucun espace n'est disponible"
        r"|No queda espacio en el dispositivo"
        r"|Não há espaço disponível no dispositivo"
        r"|Spazio esaurito sul device"
        r"|Brak miejsca na urządzeniu)"
        r"|(?i:there is not enough space on the disk"
        r"|磁盘空间不足"
        r"|\bdatabase or disk is full"
        r"|\bdisk (?:is )?full\b(?! (?:of|at|path|check|text))"
        r"|insufficient (?:free )?(?:disk|storage) space)"
        r"|low on resource: (?:ephemeral-storage|nodefs|imagefs)"
        r"|(?:ephemeral local storage|EmptyDir volume).{0,60} (?:usage )?exceeds the (?:total )?limit",
        source="glibc strerror and its translations, cpython, rust std::io, go syscall, kubelet, sqlite",
    ),
    Signature(
        "disk-short-write",
        "disk_full",
        r"\bOSError: \d+ requested and \d+ written",
        narrow=(" requested and ",),
        source="numpy convert.c (tofile, save): what it wrote is all that the file system took",
    ),
    Signature(
        "disk-short",
        "disk_full",
        r"(?i:not enough (?:free )?disk space"
        r"|(?:running )?(?:out of|low on) disk space\b"
        r"|disk space (?:is )?(?:critically )?low\b)"
        r"|\b(?:NodeHasDiskPressure|EvictionThresholdMet)\b",
        severity="warning",
        fatal=False,
        source="huggingface_hub file_download.py, kubelet",
    ),
    Signature(
        "quota",
        "quota_exceeded",
        r"^(?!.*(?i:\binodes?\b|file count)).*(?:(?i:disk quota exceeded"
        r"|超出磁盘限额"
        r"|超過磁碟配額"
        r"|ディスク使用量制限を超過"
        r"|Plattenspeicherplatz.{0,12}überschritten"
        r"|quota d'espace disque"
        r"|Se ha excedido la cuota de disco)"
        r"|(?:П|п)ревышена дисковая квота"
        r"|\[Errno 122\]"
        r"|\(os error 122\)"
        r"|\bEDQUOT\b"
        r"|(?i:user (?:block|file) quota"
        r"|over (?:disk|file|its|block) quota"
        r"|write failed, (?:user|group|project) (?:block|file) limit reached"
        r"|(?:group|project|fileset) (?:block |file )?quota (?:exceeded|reached)"
        r"|storage ?quota ?(?:has been )?exceeded))",
        source="glibc strerror and its translations, linux fs/quota/dquot.c",
    ),
    Signature(
        "fds",
        "fd_exhausted",
        r"(?i:\btoo many open files\b)"
        r"|\[Errno 2[34]\]"
        r"|\(os error 2[34]\)"
        r"|\bE[MN]FILE\b"
        r"|VFS: file-max limit \d+ reached"
        r"|received 0 items of ancdata"
        r"|打开的文件过多"
        r"|開啟太多檔案"
        r"|開いているファイルが多すぎます"
        r"|Zu viele offene Dateien"
        r"|Trop de fichiers ouverts"
        r"|Demasiados (?:archivos|ficheros) abiertos"
        r"|Слишком много открытых файлов"
        r"|ENOSPC: System limit for number of file watchers"
        r"|(?i:inotify (?:watch|instance) limit reached)",
        source="glibc strerror and its translations, torch multiprocessing reductions, linux fs/file_table.c",
    ),
    Signature(
        "io-error",
        "io_error",
        r"\[Errno (?:5|70|107|108|112|116|121)\]"
        r"|\(os error (?:5|107|108|112|116|121)\)"
        r"|(?<![Bb]uffer )(?i:\binput/output error\b)"
        r"|\bE(?:IO|STALE|REMOTEIO|NOTCONN): "
        r"|(?i:\bstale (?:nfs )?file handle\b|\btransport endpoint (?:is not connected|shutdown)\b|: remote i/o error\b)"
        r"|输入/输出错误"
        r"|輸入/輸出錯誤"
        r"|入力/出力エラーです"
        r"|Eingabe-/Ausgabefehler"
        r"|[Ee]rreur d'entrée/sortie"
        r"|Error de entrada/salida"
        r"|Erro de entrada/saída"
        r"|Ошибка ввода/вывода"
        r"|读取文件时.{0,8}I/O",
        source="glibc strerror and its translations, cpython, rust std::io, go syscall, libuv",
    ),
    Signature(
        "read-only",
        "fs_error",
        r"\[Errno 30\]"
        r"|\(os error 30\)"
        r"|\bEROFS: "
        r"|(?i:(?:\[errno \d+\]|: |error:) ?read-only file system\b)"
        r"|只读文件系统"
        r"|唯讀檔案系統"
        r"|Le système de fichiers est (?:accessible )?en lecture seul"
        r"|Das Dateisystem ist nur lesbar"
        r"|Dateisystem ist nur zum Lesen"
        r"|Sistema de ficheros de sólo lectura",
        source="glibc strerror and its translations, rust std::io, go syscall, libuv",
    ),
)
