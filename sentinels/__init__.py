"""The sentinels: one pure rule per file; they are found by listing this folder."""
