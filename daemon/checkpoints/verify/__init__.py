"""Is a checkpoint whole, as it was written, and finite?"""
