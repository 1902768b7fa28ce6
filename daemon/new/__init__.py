"""A new training project: the files that ``middlewatch new`` writes, from templates of ours."""
