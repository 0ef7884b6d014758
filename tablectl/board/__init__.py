"""The host end of the wire."""
