"""Times of the link: how long a byte takes, how long an answer takes, when silence is a loss."""

BAUD = 115_200
BITS_PER_BYTE = 10  # 8N1

INITIAL_RTO_US = 200_000  # before the first measurement: a board behind USB that is still warming up
MIN_RTO_US = 30_000  # a floor of 25 ms gave endless retransmissions on slow boards
MAX_RTO_US = 1_000_000
_GRANULARITY_US = 1_000

PING_US = 230_000  # no divisor of other periods, so that coincidences do not repeat
MISSED_PINGS = 4


class LineClock:
    """Reckons when bytes handed to a serial line will have left it."""

    def __init__(self, baud: int = BAUD) -> None:
        self._byte_ns = 1_000_000_000 * BITS_PER_BYTE // baud
        self._free_ns = 0

    def put(self, size: int, now_us: int) -> int:
        """Hand over `size` bytes; return when the last of them leaves."""
        self._free_ns = max(self._free_ns, now_us * 1000) + size * self._byte_ns
        return -(-self._free_ns // 1000)

    def flush(self) -> None:
        """Forget what was waiting: it was dropped."""
        self._free_ns = 0


class RoundTrip:
    """The retransmission time-out after RFC 6298, in whole µs."""

    def __init__(self) -> None:
        self.rto_us = INITIAL_RTO_US
        self.smoothed_us: int | None = None
        self._variation_us = 0

    def sample(self, rtt_us: int) -> None:
        """Take one round trip in; Karn: never that of a frame that was sent twice."""
        if self.smoothed_us is None:
            self.smoothed_us, self._variation_us = rtt_us, rtt_us // 2
        else:
            self._variation_us += (abs(self.smoothed_us - rtt_us) - self._variation_us) // 4
            self.smoothed_us += (rtt_us - self.smoothed_us) // 8
        wanted = self.smoothed_us + max(_GRANULARITY_US, 4 * self._variation_us)
        self.rto_us = min(MAX_RTO_US, max(MIN_RTO_US, wanted))

    def back_off(self) -> None:
        """Wait twice as long, until the next sample says otherwise."""
        self.rto_us = min(MAX_RTO_US, 2 * self.rto_us)


class Heartbeat:
    """Says when a ping is due and when too many have gone unanswered.

    A ping is due 230 ms after the last frame sent, so that the board hears of us, and 230 ms after the last
    one heard or pinged for, so that a host that talks to a dead board all the time notices as soon as an idle
    one.
    """

    def __init__(self, now_us: int) -> None:
        self.missed = 0
        self._sent_us = self._asked_us = now_us

    def sent(self, now_us: int) -> None:
        """A frame went out."""
        self._sent_us = now_us

    def heard(self, now_us: int) -> None:
        """An intact frame came in."""
        self.missed = 0
        self._asked_us = now_us

    def due(self, now_us: int) -> bool:
        """Tell whether a ping is to be sent now, and count it as unanswered until something is heard."""
        if self.next_deadline() > now_us:
            return False
        self.missed += 1
        self._asked_us = now_us
        return True

    @property
    def lost(self) -> bool:
        """Tell whether the ping that is due comes after four without an answer."""
        return self.missed > MISSED_PINGS

    def next_deadline(self) -> int:
        """Return when the next ping is due."""
        return min(self._sent_us, self._asked_us) + PING_US
