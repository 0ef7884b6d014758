"""What a machine is like: every parameter of a model, read from one documented TOML file."""

import tomllib
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from types import UnionType
from typing import Any, TypeVar, get_args, get_type_hints

FOLDER = Path(__file__).parent / "models"
SIDES = (1, 2, 3, 4)
_T = TypeVar("_T")


class ModelError(ValueError):
    """A model file that cannot be used; the text says file, key and what is wrong."""


@dataclass(frozen=True, slots=True)
class DrumModel:
    """The wash drum 大盘."""

    spin_up_ms: int
    take_chance: float
    few_tiles: int
    back_up: float
    turn_over_ms: int
    mix_bias: float


@dataclass(frozen=True, slots=True)
class MouthModel:
    """A mouth: pick-up, belt, slot."""

    pocket_ms: int
    pocket_wobble: float
    spread: float
    belt_ms: int
    belt_tiles: int


@dataclass(frozen=True, slots=True)
class EyeModel:
    """A counting eye and the board's threshold."""

    dark_mv: int
    tile_mv: int
    noise_mv: int
    threshold_mv: int


@dataclass(frozen=True, slots=True)
class TravelModel:
    """How long mechanisms travel, and where the lift's wall goes to its latches."""

    stacker_ms: int
    lift_ms: int
    console_ms: int
    latch_at: float


@dataclass(frozen=True, slots=True)
class CurrentModel:
    """Rated currents, and what the supply gives."""

    drum_ma: int
    conveyor_ma: int
    stacker_ma: int
    lift_ma: int
    console_ma: int
    limit_ma: int
    brown_out_ma: int


@dataclass(frozen=True, slots=True)
class StoreModel:
    """What the store of a wall holds."""

    stacks: int


@dataclass(frozen=True, slots=True)
class HandModel:
    """What is different where a mouth serves hands."""

    stacks: int
    lift_ms: int
    lift_ma: int


@dataclass(frozen=True, slots=True)
class MouthSpec:
    """One mouth of a table: what it is for, its side, how much its store holds, what its lift is like."""

    name: str
    side: int
    hand: bool  # it serves a hand; else it builds a wall
    stacks: int
    lift_ms: int
    lift_ma: int


@dataclass(frozen=True, slots=True)
class MachineModel:
    """One kind of table."""

    table: str
    mouths: int
    drum: DrumModel
    mouth: MouthModel
    eye: EyeModel
    travel: TravelModel
    current: CurrentModel
    store: StoreModel
    hand: HandModel | None = None  # where there are mouths that serve hands

    @property
    def each_mouth(self) -> tuple[MouthSpec, ...]:
        """Return the mouths: one at every side that builds its wall, then one that serves its hand."""
        walls, hands = (self.store.stacks, self.travel.lift_ms, self.current.lift_ma), self.hand
        found = [MouthSpec(f"S{side}", side, False, *walls) for side in SIDES]
        if hands:
            found += [MouthSpec(f"H{n}", n, True, hands.stacks, hands.lift_ms, hands.lift_ma) for n in SIDES]
        return tuple(found)


def load(name: str | Path) -> MachineModel:
    """Read a model by its name or path; ModelError says what is wrong."""
    path = FOLDER / f"{name}.toml" if str(name) in names() else Path(name)
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ModelError(f"{path}: {error.strerror}; there are {', '.join(names())}") from error
    except ValueError as error:
        raise ModelError(f"{path}: {error}") from error
    model = _read(MachineModel, table, str(path), "")
    _check(model, str(path))
    return model


def names() -> tuple[str, ...]:
    """Return the names of the models that come with the simulator."""
    return tuple(sorted(p.stem for p in FOLDER.glob("*-mouth.toml")))


def _check(model: MachineModel, file: str) -> None:
    """Refuse what each value allows and no table can be."""
    eye, current, hands = model.eye, model.current, model.hand.stacks if model.hand else 0
    wrong = {
        f"mouths is {model.mouths}; there are tables with 4 and with 8": model.mouths not in (4, 8),
        f"mouths is {model.mouths}; [hand] stands where it is 8": (model.mouths == 8)
        != (model.hand is not None),
        f"mouth.belt_tiles is {model.mouth.belt_tiles}; a belt holds 2 tiles or more": model.mouth.belt_tiles
        < 2,
        f"eye.threshold_mv is {eye.threshold_mv}; it must lie between dark_mv and tile_mv": not (
            eye.dark_mv < eye.threshold_mv < eye.tile_mv
        ),
        f"travel.latch_at is {model.travel.latch_at}; it must be from 0.1 to 0.9": not (
            0.1 <= model.travel.latch_at <= 0.9
        ),
        f"current.brown_out_ma is {current.brown_out_ma}; it must be more than limit_ma": (
            current.brown_out_ma <= current.limit_ma
        ),
        f"store.stacks is {model.store.stacks}; a board counts to 31 stacks": model.store.stacks > 31,
        f"hand.stacks is {hands}; a board counts to 31 stacks": hands > 31,
    }
    for why, holds in wrong.items():
        if holds:
            raise ModelError(f"{file}: {why}")


def _read(cls: type[_T], table: dict[str, Any], file: str, path: str) -> _T:
    wanted = get_type_hints(cls)
    for key in table:
        if key not in wanted:
            raise ModelError(f"{file}: {path}{key} is unknown; there are {', '.join(wanted)}")
    values: dict[str, Any] = {}
    for each in fields(cls):  # type: ignore[arg-type]
        if each.name not in table:
            if each.default is not MISSING:
                continue
            raise ModelError(f"{file}: {path}{each.name} is missing")
        values[each.name] = _value(wanted[each.name], table[each.name], file, f"{path}{each.name}")
    return cls(**values)


def _value(kind: Any, value: Any, file: str, path: str) -> Any:
    if isinstance(kind, UnionType):
        kind = get_args(kind)[0]  # what may be left out is of its kind where it stands
    if isinstance(value, dict):
        if kind in (int, float, str):
            raise ModelError(f"{file}: {path} is a table, not a {kind.__name__}")
        return _read(kind, value, file, f"{path}.")
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if kind is float and number:
        if not 0 <= value <= 1:
            raise ModelError(f"{file}: {path} is {value}; it must be from 0 to 1")
        return float(value)
    if kind is int and number and isinstance(value, int):
        if not 0 < value < 1_000_000:
            raise ModelError(f"{file}: {path} is {value}; it must be a positive number below a million")
        return value
    if kind is str and isinstance(value, str):
        return value
    raise ModelError(f"{file}: {path} is {value!r}, not a {getattr(kind, '__name__', kind)}")
