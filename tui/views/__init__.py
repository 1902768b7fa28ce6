"""The views: each file draws one, and says which keys it has. None of them knows Textual."""
