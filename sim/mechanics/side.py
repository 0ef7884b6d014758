"""What stands behind one mouth: stacker, store, lift, and the latches on which its wall, or a hand, lies."""

from collections.abc import Callable

from sim.agenda import Agenda
from sim.mechanics.crank import TURN, WINDOW, Crank, travel_from
from sim.mechanics.mouth import Mouth
from sim.model import MachineModel, MouthSpec
from sim.tiles import Place

PUSHED_ANGLE = TURN // 2 - WINDOW - 1_000  # the stack is in the store when the closed sensor comes on
AT_END = 0.02  # of its travel: so near to home a tray, so near to open a stacker, is out of the other's way
JAM_ANGLE = TURN // 5  # where the stacker meets a tile that stands half in the slot


class Side:
    """A mouth with its mechanisms and the places its tiles are in; one that serves hands is no other.

    `wall` is what the lift has left on the latches.
    """

    def __init__(
        self,
        agenda: Agenda,
        spec: MouthSpec,
        model: MachineModel,
        mouth: Mouth,
        on_sensor: Callable[[str, bool], None],
        on_held: Callable[[str, bool], None],
        on_wall: Callable[[str], None],
        violate: Callable[[str], None],
        console_is_down: Callable[[], bool],
    ) -> None:
        self.spec = spec
        self.name = spec.name
        self.mouth = mouth
        self.store = Place(f"store.{self.name}")
        self.wall = Place(f"wall.{self.name}")
        self._capacity = 2 * spec.stacks
        self._on_wall = on_wall
        self._violate = violate
        self._console_is_down = console_is_down
        self._on_sensor = on_sensor
        stacker, lift = f"stacker.{self.name}", f"lift.{self.name}"
        self.stacker = Crank(
            agenda,
            2000 * model.travel.stacker_ms,
            {f"{stacker}.open": 0, f"{stacker}.closed": TURN // 2},
            {JAM_ANGLE: self._meet_jam, PUSHED_ANGLE: self._push},
            self._stacker_sensor,
            lambda held: on_held(stacker, held),
        )
        self.lift = Crank(
            agenda,
            1000 * spec.lift_ms,
            {f"{lift}.home": 0},
            {round(TURN * model.travel.latch_at): self._latch},
            on_sensor,
            lambda held: on_held(lift, held),
        )
        mouth.slot_free = self._slot_free

    def turn_stacker(self, direction: int) -> None:
        """Turn the stacker; a slot that it leaves free takes waiting tiles."""
        self.stacker.turn(direction)
        self.mouth.settle()

    def jam(self, jammed: bool) -> None:
        """Let a tile stand half in the slot, or take it out."""
        self.mouth.jammed = jammed
        self.mouth.settle()
        if not jammed:
            self.stacker.retry()

    def pull_wall(self, onto: Place) -> None:
        """Let hands take the wall off its latches."""
        for tile in list(self.wall.tiles):
            tile.move(onto)
        self.lift.retry()

    def _slot_free(self) -> bool:
        return self.stacker.on[f"stacker.{self.name}.open"] and not self.stacker.turning

    def _stacker_sensor(self, name: str, active: bool) -> None:
        self._on_sensor(name, active)
        self.mouth.settle()

    def _meet_jam(self, direction: int) -> bool:
        return direction < 0 or not self.mouth.jammed

    def _push(self, direction: int) -> bool:
        if travel_from(self.lift.angle, 0) > AT_END:
            self._violate(f"{self.name}: pushed against a tray that is not home")
            return False
        if self.mouth.slot.tiles and len(self.store) >= self._capacity:
            self._violate(f"{self.name}: pushed into a full store")
            return False
        self.mouth.empty_slot(self.store)
        return True

    def _latch(self, direction: int) -> bool:
        if not self.store.tiles:
            return True
        if direction > 0 and self.wall.tiles:
            return False  # the wall before has not been pulled off: the lift stalls under it
        if not self._console_is_down():
            self._violate(f"{self.name}: raised while the console was not down")
        if travel_from(self.stacker.angle, 0) > AT_END:
            self._violate(f"{self.name}: raised while its stacker was not open")
        for tile in list(self.store.tiles):
            tile.move(self.wall)
        self._on_wall(self.name)
        return True
