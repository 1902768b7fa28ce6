"""A database of tensorstore (OCDBT), read by its own library: it checks the tables that lead to the data."""

from __future__ import annotations

_MOST_KEYS = 200_000


class NoLibrary(Exception):
    """The library could not be used; the text says why."""


def broken(folder: str) -> str:
    """What the library refuses in the database at ``folder``; empty where all its tables can be read and
    every value has its place in a file that is long enough."""
    try:
        import tensorstore
    except (ImportError, OSError, MemoryError) as error:
        raise NoLibrary(str(error)) from None
    try:
        context = tensorstore.Context({"cache_pool": {"total_bytes_limit": 0}})
        store = tensorstore.KvStore.open(
            {"driver": "ocdbt", "base": f"file://{folder}/", "assume_config": False},
            context=context,
        ).result()
        keys = store.list().result()
        for key in keys[:_MOST_KEYS]:
            if not store.read(key).result().value:  # it reads a missing file as an empty value
                return f"the value of {key.decode('utf-8', 'replace')[:100]} is missing"
    except MemoryError:
        raise NoLibrary("out of memory") from None
    except Exception as error:  # noqa: BLE001 (the library has no classes of its own)
        return f"{str(error).splitlines()[0][:300]}"
    return "" if keys else "no value in it"
