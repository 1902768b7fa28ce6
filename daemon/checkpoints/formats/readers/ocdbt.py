"""A database of tensorstore (OCDBT), read by its own library: it checks the tables that lead to the data."""

from __future__ import annotations

_MOST_KEYS = 20_000
"""Values that are looked for. A save of a large model has some thousand chunks."""
_LAST_BYTE = slice(-1, None)
"""What is read of a value: that its file is long enough is all that the whole would tell too, as the data has no
checksum; and one value may be larger than the memory that the verifier has."""


class NoLibrary(Exception):
    """The library could not be used; the text says why."""


def broken(folder: str) -> str:
    """What the library refuses in the database at ``folder``; empty where all its tables can be read and
    every value has its place in a file that is long enough."""
    try:
        import tensorstore
    except (ImportError, OSError, MemoryError) as error:
        raise NoLibrary(str(error)) from None
    # One thing at a time, and nothing kept: the verifier has a gigabyte.
    few = {"limit": 1}
    spec = {
        "cache_pool": {"total_bytes_limit": 0},
        "data_copy_concurrency": few,
        "file_io_concurrency": few,
    }
    try:
        store = tensorstore.KvStore.open(
            {"driver": "ocdbt", "base": f"file://{folder}/", "assume_config": False},
            context=tensorstore.Context(spec),
        ).result()
        keys = store.list().result()
        for key in keys[:_MOST_KEYS]:
            # It reads a missing file as an empty value.
            if not store.read(key, byte_range=_LAST_BYTE).result().value:
                return f"the value of {key.decode('utf-8', 'replace')[:100]} is missing"
    except MemoryError:
        raise NoLibrary("out of memory") from None
    except Exception as error:  # noqa: BLE001 (the library has no classes of its own)
        return f"{str(error).splitlines()[0][:300]}"
    return "" if keys else "no value in it"
