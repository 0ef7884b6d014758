"""Rule sets as data and the pure functions that read them."""
