"""The troubles we know: one pure rule per file, found by walking this folder."""
