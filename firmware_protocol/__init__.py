"""The wire contract between host and board: framing, messages, link, description."""
