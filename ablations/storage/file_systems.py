"""Which file system a directory is on, where that bears on how results are kept there."""

from __future__ import annotations

import re
from pathlib import Path

MOUNTS = Path("/proc/self/mountinfo")
"""Where Linux lists what is mounted; elsewhere nothing is known."""

NETWORK = frozenset(
    {
        *("nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "gfs2", "glusterfs"),
        *("lustre", "beegfs", "gpfs", "ocfs2", "orangefs", "pvfs2", "fuse.sshfs"),
        *("fuse.glusterfs", "fuse.ceph", "fuse.juicefs", "fuse.s3fs", "fuse.rclone"),
    }
)
"""Types of file systems that several machines may have mounted."""


def network_type(path: Path) -> str | None:
    """The type of the file system at `path` if it is one that machines share."""
    try:
        mounts = MOUNTS.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return None
    path = path.resolve()
    found = None
    depth = -1
    for line in mounts.splitlines():
        mount, _, source = line.partition(" - ")
        place = Path(_unescaped(mount.split(" ")[4]))
        # Of two mounted at one place the later one hides the other.
        if path.is_relative_to(place) and len(place.parts) >= depth:
            found, depth = source.split(" ")[0], len(place.parts)
    return found if found in NETWORK else None


def _unescaped(text: str) -> str:
    """Spaces and the like are written as three octal digits."""
    return re.sub(r"\\([0-7]{3})", lambda digits: chr(int(digits[1], 8)), text)
