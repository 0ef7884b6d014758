"""What each state of the cycle does, and what is remembered of going from one to another. Pure."""

from collections.abc import Callable
from dataclasses import dataclass

from firmware_protocol.description import Mouth
from tablectl.rules import ruleset, serving
from tablectl.table import console
from tablectl.table.activity import STOP_FEEDS, Activity, Procedure
from tablectl.table.adding import Adding
from tablectl.table.cycle import State, Trigger
from tablectl.table.diagnosis import Diagnosis
from tablectl.table.events import BoardState, Hello
from tablectl.table.giving_up import GivingUp
from tablectl.table.homing import Homing
from tablectl.table.memory import Memory, Standing, WashOrder
from tablectl.table.operations import Operations
from tablectl.table.raise_walls import RaiseWalls
from tablectl.table.sorter import Probe, Wash
from tablectl.table.technician import Technician


@dataclass(frozen=True, slots=True)
class Situation:
    """What an activity begins with; `stop` is what CLEAR must name, `cut` that a raise was begun before."""

    operations: Operations
    memory: Memory
    seen: BoardState
    hello: Hello
    stop: int
    cut: bool
    clear: Callable[[int], None]
    record_jog: Callable[[str, str, int], None]


def activity(new: State, at: Situation) -> Activity | None:
    """Return what a state does, None where it waits for people."""
    operations, seen, mouths = at.operations, at.seen, at.hello.description.named_mouths
    order = at.memory.stored if new is State.RAISING else at.memory.wash
    tiles = order.tiles if order else ()
    match new:
        case State.HOMING:
            stored = (
                ()
                if at.memory.raising or at.memory.mistrust or not at.memory.stored
                else at.memory.stored.tiles
            )
            return Homing(operations, at.hello, seen, at.stop, at.clear, at.memory.without, stored)
        case State.OPENING:
            return Procedure(operations, [[console.up(at.memory.without)]], Trigger.CONSOLE_UP)
        case State.CLOSING | State.ADD_CLOSING:
            return console.Lowering(operations, at.memory.without)
        case State.ADD_OPENING:
            return Adding(operations, mouths, tiles, seen, at.memory.without)
        case State.GIVING_UP:
            recorded = at.memory.stored.tiles if at.memory.stored else ()
            return GivingUp(operations, mouths, seen, at.memory.recount, recorded)
        case State.HALTING:
            return Procedure(operations, [[STOP_FEEDS]], Trigger.NOTHING)
        case State.RAISING:
            return RaiseWalls(operations, mouths, tiles, seen, at.cut)
        case State.WASHING:
            return Wash(operations, mouths, tiles, seen, at.memory.recount)
        case State.PROBING:
            left = order is not None and ruleset.load(order.rule).tiles.left_in_drum > 0
            return Probe(operations, mouths, tiles, seen, look=not left)
        case State.DIAGNOSING:
            return Diagnosis(operations, mouths, tiles, seen)
        case State.TECHNICIAN:
            return Technician(operations, at.hello.description, at.record_jog)
        case _:
            return None


def remembered(memory: Memory, old: State, new: State, mouths: tuple[Mouth, ...]) -> Memory:
    """Return what a table with these mouths remembers after it has gone from one state to another."""
    match old, new:
        case _, State.OPENING:
            memory = memory.but(loaded=True, standing=None)
        case _, State.RAISING:
            memory = memory.but(raising=True)
        case _, State.WASHING if memory.wash is None:
            rule = ruleset.load(memory.rule)
            order = WashOrder(rule.id, serving.orders(rule, mouths))
            memory = memory.but(wash=order, loaded=False, washed_us=0)
        case _, State.GIVING_UP:
            memory = memory.but(mistrust=True)  # once begun it is the only way on, whatever cuts it
        case State.WASHING, State.PROBING:
            memory = memory.but(recount=())
        case State.PROBING, State.REST | State.OFF:
            left = memory.wash is not None and ruleset.load(memory.wash.rule).tiles.left_in_drum > 0
            leftover = memory.wash.rule if memory.wash and left else None
            memory = memory.but(wash=None, stored=memory.wash, washed_us=0, leftover=leftover)
        case State.HALTING, State.REST | State.OFF:
            memory = memory.but(wash=None, washed_us=0, recount=())
        case State.GIVING_UP, State.REST:
            memory = memory.but(
                wash=None, stored=None, raising=False, washed_us=0, recount=(), mistrust=False
            )
        case _:
            pass
    if old is State.RAISING and new in (State.WASHING, State.REST, State.OFF) and memory.stored:
        standing = Standing(memory.stored, memory.dealer)
        memory = memory.but(raising=False, stored=None, standing=standing)
    return memory
