"""Runs scenario files in virtual time and says of every step how it went. `python -m sim.lab.scenario`.

Every file is checked before the first one runs. Exit status 0: all went as written; 1: a step failed;
2: a file cannot be used.
"""

import json
import sys
from typing import Any

import click

from firmware_protocol.catalogue import LANGUAGES, language
from sim.lab import scenario_steps as st
from sim.lab.scenario_file import read
from sim.lab.scenario_run import Result, Run
from tablectl.cli.demo_view import describe
from tablectl.errors import TablectlError
from tablectl.texts import TEXTS

S = 1_000_000
FINE, STEP_FAILED, BAD_FILE = 0, 1, 2
_LANG = language()
# What has a word of its own in the file: the fault, and whether it comes or is mended.
_WORDS = {
    (st.MAINS, True): "mains_off",
    (st.MAINS, False): "mains_on",
    (st.DOOR, True): "door_open",
    (st.DOOR, False): "door_shut",
}


def _say(key: str, lang: str, /, **values: Any) -> str:
    return TEXTS(f"scenario.{key}", lang, **values)


def action_text(action: st.Action, lang: str) -> str:
    """Return what a step does, for people."""

    def say(key: str, /, **values: Any) -> str:
        return _say(f"step.{key}", lang, **values)

    match action:
        case st.Press(key, held_us):
            return say("press_held", key=key, held=held_us / S) if held_us else say("press", key=key)
        case st.PanelPress(keys, held_us):
            return say("panel", keys=" + ".join(keys), held=held_us / S)
        case st.PutIn(source, None):
            return say("put_in", source=say(f"source.{source}"))
        case st.PutIn(source, count):
            return say("put_in_some", source=say(f"source.{source}"), count=count)
        case st.TakeOut(back):
            return say("take_out", back=say(f"back.{back}"))
        case st.Pull(sides):
            return say("pull", sides=", ".join(sides))
        case st.Break(spec):
            return say(_WORDS.get((spec, True), "fault"), spec=spec)
        case st.Repair(spec):
            return say("mend_all" if spec == st.ALL else _WORDS.get((spec, False), "mend"), spec=spec)
        case st.WiredStop(is_open):
            return say("wired_stop_open" if is_open else "wired_stop_shut")
        case st.Wait(us):
            return say("wait", seconds=us / S)
        case st.Expect(wants, within_us):
            wanted = ", ".join(f"{key} {value_text(value)}" for key, value in wants.items())
            return (
                say("expect_within", wanted=wanted, seconds=within_us / S)
                if within_us
                else say("expect", wanted=wanted)
            )


def value_text(value: Any) -> str:
    """Return an expected or found value as it would stand in the file."""
    if isinstance(value, tuple):
        return "[" + ", ".join(map(str, value)) + "]"
    return f'"{value}"'


def step_lines(result: Result, lang: str) -> list[str]:
    """Return the line of a step, and what was missed where it failed."""
    ended = _say("good" if result.good else "failed", lang)
    head = (
        f"{result.time_us / S:8.2f} s  {result.number:3d}  {action_text(result.step.action, lang)}  {ended}"
    )
    lines = [head]
    place = {"step": result.number, "line": result.step.line}
    for miss in result.misses:
        values = {"expected": value_text(miss.expected), "found": value_text(miss.found)}
        lines.append(_say("missed", lang, **place, key=miss.key, **values))
    if result.impossible:
        lines.append(_say(f"cannot.{result.impossible}", lang, **place))
    return lines


def run_to_text(run: Run, lang: str) -> None:
    """Run and print one line per step as it goes."""
    scenario = run.scenario
    click.echo(f"{scenario.file}: {scenario.title[lang]}")
    for result in run.steps():
        click.echo("\n".join(step_lines(result, lang)))
    if not run.good:
        click.echo(_say("said", lang))
        for event in run.said():
            if line := describe(event, lang):
                click.echo(f"    {line}")
    key = "passed" if run.good else "stopped"
    click.echo(_say(key, lang, file=scenario.file, done=len(run.results), steps=len(scenario.steps)))


def run_to_json(run: Run) -> dict[str, Any]:
    """Run and return what came of it, for programs."""
    steps = [_step_json(result) for result in run.steps()]
    scenario = run.scenario
    found = {"file": scenario.file, "title": scenario.title, "passed": run.good, "steps": steps}
    return found if run.good else {**found, "said": run.said()}


def _step_json(result: Result) -> dict[str, Any]:
    misses = [{"key": m.key, "expected": _plain(m.expected), "found": _plain(m.found)} for m in result.misses]
    text = {lang: action_text(result.step.action, lang) for lang in LANGUAGES}
    found = {"step": result.number, "line": result.step.line, "time_us": result.time_us, "text": text}
    return {**found, "passed": result.good, "missed": misses, "impossible": result.impossible or None}


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [each if isinstance(each, int) else str(each) for each in value]
    return value if isinstance(value, int) else str(value)


@click.command(
    help=TEXTS("help.scenario_program", _LANG), context_settings={"help_option_names": ["-h", "--help"]}
)
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option("--json", "as_json", is_flag=True, help=TEXTS("option.json", _LANG))
@click.option("--lang", type=click.Choice(LANGUAGES), default=_LANG, help=TEXTS("option.lang", _LANG))
def main(files: tuple[str, ...], as_json: bool, lang: str) -> None:
    """Run scenarios."""
    scenarios = []
    bad = False
    for name in files:
        try:
            scenarios.append(read(name))
        except TablectlError as error:
            click.echo(error.text(lang), err=True)
            bad = True
    if bad:
        sys.exit(BAD_FILE)
    runs = [Run(each) for each in scenarios]
    if as_json:
        click.echo(json.dumps([run_to_json(run) for run in runs], ensure_ascii=False))
    else:
        for run in runs:
            run_to_text(run, lang)
    sys.exit(FINE if all(run.good for run in runs) else STEP_FAILED)


if __name__ == "__main__":
    main()
