"""How long motors are driven after the host's last byte: what a board must end whatever its host does."""

from sim.agenda import Agenda
from sim.mechanics.machine import Machine


class Silence:
    """Looks whenever an output is about to change, and whenever the host speaks."""

    def __init__(self, agenda: Agenda, machine: Machine) -> None:
        self.longest_us = 0  # that a motor has been on after the host's last byte before
        self.heard_us: int | None = None  # when the host's last byte came
        self._agenda = agenda
        self._machine = machine
        machine.on_drive = self.look

    def heard(self) -> None:
        """Note that bytes of the host have come."""
        self.look()
        self.heard_us = self._agenda.now_us

    def look(self) -> None:
        """Note how long the host has been silent while a motor is on."""
        if self.heard_us is not None and self._machine.driven:
            self.longest_us = max(self.longest_us, self._agenda.now_us - self.heard_us)
