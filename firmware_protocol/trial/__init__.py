"""The parts of the conformance suite: a port, a hand that writes bare frames, and the checks."""
