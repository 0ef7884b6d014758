"""Panel keys, debounced: contacts chatter for some milliseconds, and a chatter is no second press."""

from collections.abc import Callable

from sim.agenda import Agenda, Entry

STEADY_US = 15_000


class Keys:
    """Raw contacts in; `on_key(name, down)` when a contact has been steady."""

    def __init__(self, agenda: Agenda, on_key: Callable[[str, bool], None]) -> None:
        self._agenda = agenda
        self._on_key = on_key
        self._raw: dict[str, bool] = {}
        self._told: dict[str, bool] = {}
        self._waiting: dict[str, Entry] = {}

    def contact(self, name: str, closed: bool) -> None:
        """Let a key's contact close or open."""
        self._raw[name] = closed
        if name in self._waiting:
            self._waiting[name].cancel()
        self._waiting[name] = self._agenda.after(STEADY_US, lambda: self._steady(name))

    def held(self) -> tuple[str, ...]:
        """Read the contacts anew, as at power-on: return the keys that are down."""
        for entry in self._waiting.values():
            entry.cancel()
        self._told = dict(self._raw)
        return tuple(name for name, closed in self._raw.items() if closed)

    def _steady(self, name: str) -> None:
        if self._raw[name] != self._told.get(name, False):
            self._told[name] = self._raw[name]
            self._on_key(name, self._raw[name])
