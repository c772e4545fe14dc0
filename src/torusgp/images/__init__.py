"""Images that repeat."""
