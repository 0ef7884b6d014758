"""The host end of the wire, typed: orders into messages, messages into events."""

from dataclasses import replace
from typing import Any

from firmware_protocol import host_link as hl
from firmware_protocol import messages as m
from firmware_protocol import reports
from firmware_protocol.core import Tick
from firmware_protocol.description import Description
from tablectl.table import events as ev

LEASE_MS = 2_000
JOG_LEASE_MS = 300
_COUNT = 0x3F  # the stored byte's high bits say that the count is in doubt
_ENDS = {
    ev.Verb.STROKE_HOME: m.End.HOME,
    ev.Verb.STROKE_FAR: m.End.FAR,
    ev.Verb.STROKE_TURN: m.End.TURN,
    ev.Verb.STROKE_HOME_TIMED: m.End.HOME_TIMED,
    ev.Verb.STROKE_FAR_TIMED: m.End.FAR_TIMED,
}

SessionEvent = hl.Opened | hl.Closed | hl.Received | ev.Command | ev.Panel | ev.StopAll | ev.ClearStop | Tick
SessionEffect = (
    hl.Transmit | ev.Hello | ev.Status | ev.Accepted | ev.Done | ev.Failed | ev.Stopped | ev.PanelKey
    | ev.SensorMissed | ev.LinkLost
)  # fmt: skip


class BoardSession:
    """One board on one port. `nonce_seed` is 32 random bits of the caller's."""

    def __init__(self, nonce_seed: int) -> None:
        self.link = hl.HostLink(nonce_seed)
        self._description: Description | None = None
        self._newest: ev.BoardState | None = None  # of this session

    def handle(self, event: SessionEvent, now_us: int) -> tuple[SessionEffect, ...]:
        """Take one event in."""
        given: hl.HostEvent
        match event:
            case ev.Command() | ev.Panel():
                message = self._message(event)
                if message is None:
                    return ()
                given = hl.Send(message)
            case ev.StopAll():
                given = hl.StopEverything()
            case ev.ClearStop(reason):
                given = hl.ClearStop(reason)
            case _:
                given = event
        out = (self._effect(e) for e in self.link.handle(given, now_us))
        return tuple(e for e in out if e is not None)

    def next_deadline(self) -> int | None:
        """Return when the link wants a tick."""
        return self.link.next_deadline()

    def _message(self, order: ev.Command | ev.Panel) -> m.Message | None:
        known = self._description
        if known is None:
            return None
        if isinstance(order, ev.Panel):
            lamps = sum(1 << known.lamps.index(n) for n in order.lamps if n in known.lamps)
            return m.Panel(order.op, lamps, order.buzzer_ms, order.display.encode("ascii"))
        part = known.part(order.part)
        match order.verb:
            case ev.Verb.RUN:
                return m.Run(order.op, part, 1, LEASE_MS)
            case ev.Verb.RUN_BACK:
                return m.Run(order.op, part, -1, LEASE_MS)
            case ev.Verb.JOG:
                return m.Jog(order.op, part, 1, JOG_LEASE_MS)
            case ev.Verb.JOG_BACK:
                return m.Jog(order.op, part, -1, JOG_LEASE_MS)
            case ev.Verb.FILL:
                mouth = [each.name for each in known.named_mouths].index(known.parts[part].mouth)
                return m.Fill(order.op, mouth, order.tiles, LEASE_MS)
            case ev.Verb.STOP:
                return m.Stop(order.op, part)
            case ev.Verb.RENEW:
                return m.Renew(order.op, LEASE_MS)
            case stroke:
                return m.Stroke(order.op, part, _ENDS[stroke])

    def _effect(self, effect: hl.HostEffect) -> SessionEffect | None:
        match effect:
            case hl.Transmit():
                return effect
            case hl.Up(hello, description):
                self._description = description
                self._newest = None
                return self._hello(hello, description)
            case hl.Down(hl.DownReason.CLEARED):
                return None  # asked for, and nothing moves while everything is stopped
            case hl.Down(reason, detail, outcome):
                more = detail.packed() if detail else ""
                return ev.LinkLost(reason, more, outcome.not_executed, outcome.unknown)
            case hl.Halted(stopped, outcome):
                state = self._halted(stopped)
                return ev.Stopped(stopped.reason, state, outcome.not_executed, outcome.unknown)
            case hl.NotSent(op):
                return ev.Failed(op, "NOT_SENT", self._newest) if self._newest else None
            case hl.NotSupported(op):
                return ev.Failed(op, "UNSUPPORTED", self._newest) if self._newest else None
            case hl.EventsLost():
                return None
            case hl.Incoming(message, _):
                return self._incoming(message)

    def _incoming(self, message: m.Message) -> SessionEffect | None:
        match message:
            case m.Status(clock_ms):
                if self._newest and _before(clock_ms, self._newest.clock_ms):
                    return None  # overtaken by what came in sequence
                return ev.Status(self._state(message))
            case m.Accepted(op):
                return ev.Accepted(op)
            case m.Done(op):
                return ev.Done(op, self._state(message))
            case m.Failed(op, reason):
                name = m.FailReason(reason).name if reason in list(m.FailReason) else str(reason)
                return ev.Failed(op, name, self._state(message))
            case m.KeyEvent(key, phase) if self._description and key < len(self._description.keys):
                return ev.PanelKey(self._description.keys[key], phase == m.Phase.DOWN)
            case m.SensorMissed(sensor) if self._description and sensor < len(self._description.sensors):
                return ev.SensorMissed(self._description.sensors[sensor])
            case _:
                return None

    def _hello(self, hello: m.HelloAck, description: Description) -> ev.Hello:
        causes = {int(c): c.name for c in m.ResetCause}
        return ev.Hello(
            uid=_printable(hello.uid.rstrip(b"\0")),
            boot_id=hello.boot_id,
            reset_cause=causes.get(hello.reset_cause, str(hello.reset_cause)),
            firmware=hello.firmware,
            stop=hello.stop,
            keys=_named(hello.keys, description.keys),
            description=description,
            state=self._state(hello),
        )

    def _halted(self, stopped: m.Stopped) -> ev.BoardState:
        """Return the state of a stop: it is believed whatever it counts, counts of other mouths are not."""
        known, self._newest = self._newest, None
        described = self._description
        wanted = reports.size(described) if described else len(stopped.counts) // 2 * 2
        if len(stopped.counts) == wanted:
            return self._state(stopped)
        mouths = described.mouths if described else wanted // 2
        doubtful = bytes((_COUNT, 0xFF)) * mouths  # each store may hold anything
        state = self._state(replace(stopped, counts=doubtful))
        if known:
            state = replace(known, clock_ms=state.clock_ms, sensors=state.sensors)
        return state

    def _state(self, message: Any) -> ev.BoardState:
        """Return what the board sees; a late reply tells no older story than what is known already."""
        if self._newest and _before(message.clock_ms, self._newest.clock_ms):
            return self._newest
        known, sensors = self._description, tuple[str, ...]()
        counts: bytes = message.counts
        if known:
            counts = reports.mouth_counts(known, message)
            sensors = _named(reports.sensor_bits(known, message), known.sensors)
        self._newest = ev.BoardState(
            message.clock_ms,
            sensors,
            tuple(counts[0::2]),
            tuple(c & _COUNT for c in counts[1::2]),
            tuple(c & ~_COUNT != 0 for c in counts[1::2]),
        )
        return self._newest


def _before(clock_ms: int, other_ms: int) -> bool:
    """Tell whether a time of the board's wrapping clock lies before another."""
    return (clock_ms - other_ms) & 0xFFFFFFFF >= 1 << 31


def _printable(text: bytes) -> str:
    return "".join(chr(c) if 0x20 < c < 0x7F else "?" for c in text)


def _named(bits: int, names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for i, name in enumerate(names) if bits >> i & 1)
