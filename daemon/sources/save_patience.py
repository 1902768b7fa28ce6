"""How long the checkpoint source waits before it asks, reads or tells: all in seconds."""

from __future__ import annotations

SETTLE_S = 3.0
"""Seconds without a change before the verifier is asked: one scan and a half. Asking too early
costs one check (under 10 ms) and gives no false verdict, because of the waits below."""
FILE_PATIENCE_S = 12.0
"""Seconds without a change before a single damaged file is reported. Our choice: well within the
30 s in which a verdict is due; a writer that pauses for longer still holds the file open."""
FOLDER_PATIENCE_S = 90.0
"""The same for a folder: between two of its files, with none open, a trainer may gather the
optimizer state of all ranks. Our choice, not measured: long, as the only cost is a late report."""
CORRUPT_PATIENCE_S = 24.0
"""The same for a folder with a truncated file that no process holds open: a writer that pauses
between two files leaves only whole ones. As all files are looked at every 32 s, such a folder is
reported within a minute."""
GONE_STILL_S = 2.0
"""The same for a file after the run has ended and no process holds it open: an ended run is
watched for only a few seconds more."""
QUIET_S = 4.0
"""Seconds (two scans) in which nothing grew, before data is read: reading must not slow a save."""
SMALL_BYTES = 64 << 20
"""A checkpoint up to this size is read at any time: it takes less than the tenth of a second that
a disk needs to write what a save brings in."""
MOST_PUT_OFF_S = 300.0
"""Data is read after this time even if there was no quiet moment: a run that saves all the time is
verified as well."""
WRITER_PATIENCE_S = 600.0
"""Seconds without a change before damage is reported although a process holds a file open for
writing."""
LEFTOVER_STILL_S, LEFTOVER_FOLDER_STILL_S = 20.0, 40.0
"""Seconds without a change after which a temporary file, or folder, that no process holds open
counts as left behind. Twice as long for a folder, whose writer may gather the state of all ranks
between two files. It is reported as a note, within a minute."""
