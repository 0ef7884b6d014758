"""Host software of an automatic mahjong table (自动麻将机)."""
