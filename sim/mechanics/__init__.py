"""The moving parts and the tiles in them."""
