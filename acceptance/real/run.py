#!/usr/bin/env python3
"""Real software, misconfigured and fixed: what `corewise diagnose` says of programs that nobody here wrote.

  acceptance/real/run.py list                    the pairs, with the expected rule and the measured gain
  acceptance/real/run.py setup [NAME...]         installs what they need (apt, pip, npm; root), makes their inputs
  acceptance/real/run.py measure [NAME...]       runs both sides in turn without recording; writes measured/NAME.json
  acceptance/real/run.py lot                     makes all programs of lot.json the half to develop on, and new ones the unseen half
  acceptance/real/run.py score [NAME...]         records and diagnoses both sides; prints the table
        [--half develop|unseen|all] [--runs 10] [--out DIR]
  acceptance/real/run.py stated [NAME...]        records the misconfigured sides: what the first statements name, and whether the measured gain
        [--half …] [--runs 1] [--out DIR]        is below the sum of their upper bounds
  acceptance/real/run.py tried [NAME...]         tries the fixes of their findings above low: `corewise try` with --runs pairs [10]; adds each answer to
        [--half …] [--runs 10] [--out DIR]       tried.jsonl, which it reads first, and prints the table by rule. What harmed is tried again with 20 pairs
  acceptance/real/run.py advice                  the table of docs/accuracy.md from tried.jsonl
  acceptance/real/run.py null A:B [A:B...]       tries the fix of the first finding above low of A on the misconfigured side of B, another program: how often
        [--runs 10] [--out DIR]                  the answer is "no effect", or that nothing was applied
  acceptance/real/run.py healthy [NAME...]       the same as score for the well-configured programs: their findings above low
        [--half …] [--runs 5] [--out DIR]

The order matters: a pair's expectation (pairs/*.py) and its measured gain are committed before diagnose first runs on it. The unseen half is
from an author who writes no rules, and is run once, after the last change of a rule. Then it becomes a part of the half to develop on (lot). `measure` refuses to replace a measurement. Files are in WORK (default
/var/tmp/corewise-real: data bases run as users of their own, who must get there). The binary is COREWISE, or target/release/corewise. Run it on an otherwise idle machine.
"""

import argparse
import fcntl
import importlib.util
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import corewise  # noqa: E402

# The answers of `corewise try`, kept with the pairs.
TRIED = HERE / "tried.jsonl"
WORK = Path(os.environ.get("WORK") or "/var/tmp/corewise-real")
# Severities that accuse; a finding of severity low claims nothing.
ABOVE_LOW = ("medium", "high")
# Findings about the machine, which no change of the program removes.
CONDITIONS = ("stolen-by-hypervisor", "capture-lost-events", "utilisation-misread", "frequency-below-nominal-while-busy")


@dataclass
class Pair:
    """A program in two configurations that do the same work. Commands are run by bash in a folder of their own."""

    name: str
    # The program and where it is from, for the table.
    software: str
    # What should be said first: rules any of which is right, and who should be named (a pattern for the names of the finding's threads).
    rules: list
    threads: str
    # The fault in a sentence: thread, state, cause.
    fault: str
    bad: str
    good: str
    # Packages: apt, pip, npm.
    apt: list = field(default_factory=list)
    pip: list = field(default_factory=list)
    npm: list = field(default_factory=list)
    # Run once, to make the inputs.
    prepare: str = ""
    # A server: started before each run and ended after it (SIGTERM to its process group); `ready` is polled until it succeeds. It may
    # differ by side: a pair (bad, good).
    server: object = ""
    ready: str = ""
    # What is measured: "wall" (s of the command), or a pattern with a number in its output and its direction.
    metric: str = "wall"
    higher_is_better: bool = False
    # What the number stands for in a run, in s: for a mean latency, its unit times the number of requests; 0: the whole run.
    seconds: float = 0
    # Options of `corewise record`.
    record: list = field(default_factory=list)

    def of(self, what, side):
        value = getattr(self, what)
        return value if isinstance(value, str) else value[0 if side == "bad" else 1]


@dataclass
class Healthy:
    """A well-configured program: nothing above low should be found."""

    name: str
    software: str
    good: str
    apt: list = field(default_factory=list)
    pip: list = field(default_factory=list)
    npm: list = field(default_factory=list)
    prepare: str = ""
    server: object = ""
    ready: str = ""
    record: list = field(default_factory=list)

    def of(self, what, _side):
        return getattr(self, what)


def load():
    """Returns the pairs and the healthy programs of pairs/*.py, by name."""
    pairs, healthy = {}, {}
    sys.modules["bed"] = sys.modules[__name__]
    for path in sorted((HERE / "pairs").glob("*.py")):
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        for one in module.PAIRS:
            (pairs if isinstance(one, Pair) else healthy)[one.name] = one
    return pairs, healthy


# Running


def environment():
    python, node = WORK / "venv/bin", WORK / "node/node_modules/.bin"
    return {**os.environ, "PATH": f"{python}:{node}:{os.environ['PATH']}", "WORK": str(WORK), "NODE_PATH": str(WORK / "node/node_modules")}


def folder_of(one):
    folder = WORK / "pairs" / one.name
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def bash(command, folder):
    return ["bash", "-c", f"set -e; cd '{folder}'; {command}"]


class Server:
    """The server of a run, if the pair has one."""

    def __init__(self, one, side):
        self.command, self.ready, self.folder = one.of("server", side), one.of("ready", side), folder_of(one)

    def __enter__(self):
        self.process = None
        if not self.command:
            return
        log = open(self.folder / "server.log", "wb")
        self.process = subprocess.Popen(bash(self.command, self.folder), env=environment(), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                        start_new_session=True)
        until = time.monotonic() + 60
        while self.ready and subprocess.run(bash(self.ready, self.folder), env=environment(), capture_output=True).returncode:
            if self.process.poll() is not None or time.monotonic() > until:
                sys.exit(f"{self.folder.name}: the server is not ready: see {self.folder / 'server.log'}")
            time.sleep(0.05)

    def __exit__(self, *_):
        if self.process:
            for how in (signal.SIGTERM, signal.SIGKILL):
                if self.ends(how):
                    break

    def ends(self, how):
        """Sends a signal to the server's processes; whether all of them have ended soon: the next server needs their ports."""
        until = time.monotonic() + 10
        try:
            os.killpg(self.process.pid, how)
            while time.monotonic() < until:
                self.process.poll()
                os.killpg(self.process.pid, 0)
                time.sleep(0.02)
        except ProcessLookupError:
            return True
        return False


def once(one, side, recording=None):
    """Runs one side; returns its metric: seconds of wall time, or the number that it prints."""
    folder = folder_of(one)
    command = bash(one.of(side, side), folder)
    if recording:
        command = [corewise.BINARY, "record", "-o", str(recording), *one.record, "--", *command]
    with Server(one, side):
        begin = time.monotonic()
        done = subprocess.run(command, env=environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True)
        wall = time.monotonic() - begin
    if done.returncode:
        sys.exit(f"{one.name} ({side}): exit {done.returncode}: {(done.stderr or done.stdout).strip()[-600:]}")
    if getattr(one, "metric", "wall") == "wall":
        return wall
    found = re.findall(one.metric, done.stdout + done.stderr)
    if not found:
        sys.exit(f"{one.name} ({side}): its output has no {one.metric}: {(done.stdout + done.stderr)[-600:]}")
    return float(found[-1])


def gain(pair, bad, good):
    """The share of the bad side's time that the good side saves: of wall time, of latency, or of the time per piece of a rate."""
    return 1 - bad / good if pair.higher_is_better else 1 - good / bad


def gained_ns(pair, known, trace, span):
    """The gain of a recorded run of `span` ns, in ns of what its metric counts: the measured share of it."""
    whole = json.loads(number_of(trace).read_text()) * pair.seconds * 1e9 if pair.seconds else span
    return known["gain"] * whole


def number_of(trace):
    """The file with the metric of a recorded run."""
    return trace.with_suffix(".json")


def measured(name):
    path = HERE / "measured" / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else None


# Commands


def setup(all_of):
    packages = {kind: sorted({p for one in all_of for p in getattr(one, kind)}) for kind in ("apt", "pip", "npm")}
    WORK.mkdir(parents=True, exist_ok=True)
    if packages["apt"]:
        env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        subprocess.run(["apt-get", "install", "-y", "-q", "--no-install-recommends", *packages["apt"]], check=True, env=env, stdout=subprocess.DEVNULL)
    if packages["pip"]:
        if not (WORK / "venv").exists():
            subprocess.run([sys.executable, "-m", "venv", WORK / "venv"], check=True)
        subprocess.run([WORK / "venv/bin/pip", "install", "-q", *packages["pip"]], check=True)
    if packages["npm"]:
        (WORK / "node").mkdir(exist_ok=True)
        subprocess.run(["npm", "install", "--silent", "--prefix", WORK / "node", *packages["npm"]], check=True)
    for one in all_of:
        if one.prepare:
            done = subprocess.run(bash(one.prepare, folder_of(one)), env=environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True)
            if done.returncode:
                sys.exit(f"{one.name}: prepare: {(done.stderr or done.stdout)[-600:]}")
        print(f"{one.name}: ready", flush=True)


def measure(pairs, runs, again):
    (HERE / "measured").mkdir(exist_ok=True)
    for pair in pairs:
        if measured(pair.name) and not again:
            print(f"{pair.name}: already measured: keep it, or --again")
            continue
        # The pairs of several people's runs must not disturb one another.
        with open(WORK / "lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            once(pair, "good")
            values = {"bad": [], "good": []}
            for n in range(runs):
                for side in (("bad", "good"), ("good", "bad"))[n % 2]:
                    values[side].append(round(once(pair, side), 4))
        bad, good = (statistics.median(values[side]) for side in ("bad", "good"))
        each = sorted(gain(pair, b, g) for b, g in zip(values["bad"], values["good"]))
        row = {"metric": pair.metric, "higher_is_better": pair.higher_is_better, **values, "gain": round(gain(pair, bad, good), 4),
               "least": round(each[0], 4), "most": round(each[-1], 4)}
        (HERE / "measured" / f"{pair.name}.json").write_text(json.dumps(row, indent=1) + "\n")
        print(f"{pair.name}: bad {bad:g}, good {good:g}, gain {100 * row['gain']:.1f} % ({100 * each[0]:.1f} to {100 * each[-1]:.1f})", flush=True)


def lot(names):
    """Makes the programs of lot.json, on which diagnose has run, the half to develop on, and all others the unseen half."""
    known = [name for half in ("develop", "unseen") for name in halves()[half]]
    new = [name for name in names if name not in known]
    if not new:
        sys.exit("no program is new")
    text = json.dumps({"develop": known, "unseen": new}, indent=1) + "\n"
    (HERE / "lot.json").write_text(text)
    print(text)


def halves():
    return json.loads((HERE / "lot.json").read_text())


def diagnosed(trace):
    found = json.loads(corewise.run("diagnose", trace, "--format", "json"))
    return [f for f in found["findings"] if f["rule"] not in CONDITIONS], found["span"]["end"] - found["span"]["start"]


def names_right(pair, finding):
    """Whether a finding has an expected rule and names the expected threads: as those that lose time, or as the cause in its title."""
    names = [t["name"] or "" for t in finding["threads"]] + finding["title"].split()
    return finding["rule"] in pair.rules and any(re.search(pair.threads, name) for name in names)


def score(pairs, runs, out):
    out.mkdir(parents=True, exist_ok=True)
    rows, log = [], []
    for pair in pairs:
        known = measured(pair.name)
        if not known:
            print(f"{pair.name}: left out: its gain must be measured and committed before diagnose runs on it", file=sys.stderr)
            continue
        right, accused, within, close, firsts = 0, 0, 0, 0, {}
        for n in range(runs):
            for side in ("bad", "good"):
                trace = out / f"{pair.name}-{side}-{n}.cw"
                if not trace.exists():
                    number = once(pair, side, trace)
                    number_of(trace).write_text(json.dumps(number))
                findings, span = diagnosed(trace)
                above = [f for f in findings if f["severity"] in ABOVE_LOW]
                if side == "good":
                    accused += any(names_right(pair, f) for f in above)
                    continue
                first = above[0] if above else None
                what = first["rule"] if first else "nothing"
                firsts[what] = firsts.get(what, 0) + 1
                if first and names_right(pair, first):
                    right += 1
                    saved = gained_ns(pair, known, trace, span)
                    low, high = first["range_ns"]
                    within += low <= saved <= high and high <= 3 * max(low, 1)
                    close += abs(first["recoverable_ns"] - saved) <= 0.3 * saved
                log.append({"pair": pair.name, "run": n, "findings": [(f["rule"], f["severity"], f["recoverable_ns"]) for f in findings]})
        said = ", ".join(f"{rule} {n}" for rule, n in sorted(firsts.items(), key=lambda kv: -kv[1]))
        rows.append([pair.name, " or ".join(pair.rules), f"{100 * known['gain']:.0f} %", f"{right}/{runs}", f"{accused}/{runs}",
                     f"{within}/{right}", f"{close}/{right}", said])
        print(f"{pair.name}: right first {right}/{runs}", file=sys.stderr, flush=True)
    (out / "findings.json").write_text(json.dumps(log, indent=1))
    corewise.print_table(["pair", "expected", "gain", "right first", "fixed accused", "in range", "within 30 %", "first"], rows)
    most = [r for r in rows if int(r[3].split("/")[0]) * 2 > runs]
    clear = [r for r in rows if int(r[4].split("/")[0]) * 2 <= runs]
    print(f"right first in most runs: {len(most)} of {len(rows)}; fixed side not accused: {len(clear)} of {len(rows)}")


def states_right(pair, statement):
    """Whether a statement names the expected threads."""
    return any(re.search(pair.threads, name) for name in re.findall(r"`([^`]+)`", statement["text"]))


def is_recorded(pair, trace):
    """Records the misconfigured side, unless it is there; whether it is there now."""
    if not trace.exists():
        try:
            number_of(trace).write_text(json.dumps(once(pair, "bad", trace)))
        except SystemExit as why:
            print(f"{pair.name}: {why}", file=sys.stderr)
            return False
    return True


def stated(pairs, runs, out):
    """Prints what the statements about the misconfigured sides name, and whether a fix gained more than the bound of those that name it."""
    out.mkdir(parents=True, exist_ok=True)
    rows, counts = [], {"first": 0, "any": 0, "rule": 0, "held": 0, "bounded": 0, "all": 0}
    for pair in pairs:
        known = measured(pair.name)
        for n in range(runs):
            trace = out / f"{pair.name}-bad-{n}.cw"
            if not is_recorded(pair, trace):
                continue
            found = json.loads(corewise.run("diagnose", trace, "--format", "json"))
            statements = found.get("account", [])
            above = [f for f in found["findings"] if f["severity"] in ABOVE_LOW and f["rule"] not in CONDITIONS]
            right = [s for s in statements if states_right(pair, s)]
            first, rule = bool(right and right[0] is statements[0]), bool(above and names_right(pair, above[0]))
            gained = gained_ns(pair, known, trace, found["span"]["end"] - found["span"]["start"])
            # A fix may shorten several of the parts.
            bound = sum(s["saves_at_most_ns"] for s in statements) if right else None
            counts["all"] += 1
            counts["first"] += first
            counts["any"] += bool(right)
            counts["rule"] += rule
            counts["bounded"] += bound is not None
            counts["held"] += bound is not None and gained <= bound
            text = statements[0]["text"] if statements else "nothing"
            ms = [f"{value / 1e6:.0f}" if value is not None else "-" for value in (gained, bound)]
            rows.append([pair.name, "yes" if first else "later" if right else "no", above[0]["rule"] if above else "none", "yes" if rule else "no", *ms, text])
            print(f"{pair.name}: {rows[-1][1]}", file=sys.stderr, flush=True)
    corewise.print_table(["pair", "named first", "first finding", "right", "gained ms", "at most ms", "first statement"], rows)
    print(f"first statement names the threads: {counts['first']} of {counts['all']}; one of the statements: {counts['any']}; first finding right: {counts['rule']}; "
          f"gain below the sum of the bounds: {counts['held']} of {counts['bounded']}")


def try_fix(pair, trace, number, runs):
    """Tries the fix of a finding of a recording; returns what it did, or why it cannot be tried."""
    command = [corewise.BINARY, "try", str(trace), str(number), "--pairs", str(runs), "--format", "json"]
    if pair.metric != "wall":
        command += ["--metric", pair.metric, *["--more-is-better"] * pair.higher_is_better]
    with Server(pair, "bad"):
        done = subprocess.run([*command, "--", *bash(pair.of("bad", "bad"), folder_of(pair))], env=environment(), stdin=subprocess.DEVNULL,
                              capture_output=True, text=True)
    if done.returncode:
        return {"why": done.stderr.strip().split("corewise: ")[-1]}
    return json.loads(done.stdout)


def tried(pairs, runs, out):
    """Tries the fixes of all findings above low of the misconfigured sides, and prints how often each rule's fix helped."""
    out.mkdir(parents=True, exist_ok=True)
    known = all_tried()
    done = {(one["pair"], one["rule"]) for one in known}
    for pair in pairs:
        trace = out / f"{pair.name}-bad-0.cw"
        if not is_recorded(pair, trace):
            continue
        found = json.loads(corewise.run("diagnose", trace, "--format", "json"))["findings"]
        for number, finding in enumerate(found, 1):
            rule = finding["rule"]
            if finding["severity"] not in ABOVE_LOW or rule in CONDITIONS or (pair.name, rule) in done:
                continue
            done.add((pair.name, rule))
            for count in (runs, 20):
                one = {"pair": pair.name, "day": time.strftime("%Y-%m-%d"), **try_fix(pair, trace, number, count), "rule": rule}
                known.append(one)
                with open(TRIED, "a") as file:
                    file.write(json.dumps(one) + "\n")
                print(f"{pair.name}: {rule}: {one.get('why') or one['outcome']['verdict']}", file=sys.stderr, flush=True)
                if one.get("outcome", {}).get("verdict") != "harmed":
                    break
    print_tried(known)


def all_tried():
    """What was tried until now, with the fix of each finding of each program."""
    return [json.loads(line) for line in TRIED.read_text().splitlines()] if TRIED.exists() else []


def advice(known):
    """Prints each trial as a row in Markdown."""
    print("| program | rule | fix | change, 95 % interval | verdict | runs with the finding, without and with the fix | saving, predicted (range) and measured |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for one in sorted((one for one in known if "outcome" in one), key=lambda one: (one["rule"], one["pair"])):
        outcome, change = one["outcome"], ""
        star = " *" if outcome["measure"] in ("number", "rate") else ""
        if outcome["interval"]:
            low, high = sorted(outcome["interval"])
            change = f"{100 * outcome['change']:+.1f} % ({100 * low:+.1f} to {100 * high:+.1f})".replace("-", "−")
        saving = ""
        if outcome["measured"]:
            low, high = (end / 1e6 for end in outcome["predicted"]["range"] or [outcome["predicted"]["ns"]] * 2)
            saving = f"{outcome['predicted']['ns'] / 1e6:.0f} ms ({low:.0f} to {high:.0f}), {outcome['measured']['ns'] / 1e6:.0f} ms".replace("-", "−")
        row = [f"`{one['pair']}`{star}", one["rule"], one["fix"]["kind"], change, outcome["verdict"].replace("_", " "), "{}, {}".format(*outcome["found"]), saving]
        print("| " + " | ".join(row) + " |")


def null(of_pairs, runs, out):
    """Tries the fixes of findings on other programs, for which they are not meant."""
    rows, calm = [], 0
    for found, other in of_pairs:
        trace = out / f"{found.name}-bad-0.cw"
        if not is_recorded(found, trace):
            continue
        findings = json.loads(corewise.run("diagnose", trace, "--format", "json"))["findings"]
        number = next((n for n, f in enumerate(findings, 1) if f["severity"] in ABOVE_LOW and f["rule"] not in CONDITIONS), None)
        if number is None:
            print(f"{found.name}: no finding above low", file=sys.stderr)
            continue
        one = try_fix(other, trace, number, runs)
        outcome = one.get("outcome")
        says = outcome["verdict"] if outcome else one["why"][:110]
        calm += says != "helped" and says != "harmed"
        interval = [f"{100 * change:+.1f} %" for change in outcome["interval"] or []] if outcome else []
        rows.append([found.name, findings[number - 1]["rule"], other.name, says, " to ".join(interval)])
        print(f"{found.name} on {other.name}: {says}", file=sys.stderr, flush=True)
    corewise.print_table(["finding of", "rule", "tried on", "answer", "interval"], rows)
    print(f"{calm} of {len(rows)} without an effect")


def print_tried(known):
    """Prints what the fixes of each rule did, and whether the predicted range holds what was measured."""
    verdicts = ("helped", "no_effect", "harmed", "too_few_pairs", "not_applied")
    rows, sums = [], dict.fromkeys(verdicts, 0)
    for rule in sorted({one["rule"] for one in known}):
        of_rule = [one for one in known if one["rule"] == rule]
        applied = [one for one in of_rule if "outcome" in one]
        counts = {word: sum(one["outcome"]["verdict"] == word for one in applied) for word in verdicts}
        held = sum(bool(one["predicted_range_holds"]) for one in applied)
        rows.append([rule, str(len(of_rule)), str(len(applied)), *(str(counts[word]) for word in verdicts), f"{held}", "; ".join(sorted({one["why"][:90] for one in of_rule if "why" in one}))])
        for word in verdicts:
            sums[word] += counts[word]
    corewise.print_table(["rule", "findings", "tried", *verdicts, "range holds", "why not"], rows)
    print(f"{sum(sums.values())} of {len(known)} tried: {sums}")


def score_healthy(programs, runs, out):
    out.mkdir(parents=True, exist_ok=True)
    count, found = 0, []
    for one in programs:
        for n in range(runs):
            trace = out / f"{one.name}-good-{n}.cw"
            if not trace.exists():
                once(one, "good", trace)
            count += 1
            above = [f for f in diagnosed(trace)[0] if f["severity"] in ABOVE_LOW]
            found += [[f"{one.name} {n}", f["rule"], f["severity"], f["title"]] for f in above]
    if found:
        corewise.print_table(["run", "rule", "severity", "says"], found)
    accused = len({row[0] for row in found})
    print(f"{accused} of {count} runs of well-configured programs have a finding above low ({corewise.percent(accused, count)})")


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("command", choices=["list", "setup", "measure", "lot", "score", "stated", "tried", "advice", "null", "healthy"])
    args.add_argument("names", nargs="*")
    args.add_argument("--half", choices=["develop", "unseen", "all"], default="develop")
    args.add_argument("--runs", type=int)
    args.add_argument("--again", action="store_true", help="replace a measurement")
    args.add_argument("--out", type=Path, default=WORK / "recordings")
    args = args.parse_args()
    pairs, healthy = load()
    names = [name for word in args.names for name in word.split(":")]
    unknown = [name for name in names if name not in pairs | healthy]
    if unknown:
        sys.exit(f"there is no {', '.join(unknown)}; see run.py list")
    chosen = [one for name, one in pairs.items() if not args.names or name in args.names]
    well = [one for name, one in healthy.items() if not args.names or name in args.names]
    WORK.mkdir(parents=True, exist_ok=True)
    if args.command == "list":
        gains = {name: measured(name) for name in pairs}
        rows = [[p.name, p.software, " or ".join(p.rules), f"{100 * gains[p.name]['gain']:.1f} %" if gains[p.name] else "?"] for p in chosen]
        corewise.print_table(["pair", "software", "expected", "gain"], rows)
        rules = {rule for p in chosen for rule in p.rules[:1]}
        print(f"{len(chosen)} pairs, {len(rules)} rules, {len(well)} well-configured programs")
    elif args.command == "setup":
        setup(chosen + well)
    elif args.command == "measure":
        measure(chosen, args.runs or 7, args.again)
    elif args.command == "advice":
        advice(all_tried())
    elif args.command == "lot":
        lot([*pairs, *healthy])
    else:
        corewise.need_binary()
        drawn = [*pairs, *healthy] if args.half == "all" else halves()[args.half]
        wanted = args.names or drawn
        if args.command == "healthy":
            score_healthy([h for h in well if h.name in wanted], args.runs or 5, args.out)
        elif args.command == "stated":
            stated([p for p in chosen if p.name in wanted and measured(p.name)], args.runs or 1, args.out)
        elif args.command == "null":
            null([[pairs[name] for name in word.split(":")] for word in args.names], args.runs or 10, args.out)
        elif args.command == "tried":
            tried([p for p in chosen if p.name in wanted], args.runs or 10, args.out)
        else:
            score([p for p in chosen if p.name in wanted], args.runs or 10, args.out)


if __name__ == "__main__":
    main()
