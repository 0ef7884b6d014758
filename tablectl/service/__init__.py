"""The daemon and its programming interface."""
