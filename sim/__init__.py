"""A simulated automatic mahjong table: mechanics, board, players, remote, faults. `python -m sim`."""
