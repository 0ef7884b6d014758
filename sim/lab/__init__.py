"""Controller and simulated table in one process on a virtual clock."""
