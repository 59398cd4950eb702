#!/usr/bin/env python3
"""`corewise watch --listen` in emulated guests with two threads a core and with unequal capacities, scraped from this machine.

    acceptance/watch_guest.py [CASE…] [--keep DIR]

The guests are QEMU's (aarch64, TCG; pmu/guest.py); in the first two, QEMU counts time by instructions (-icount), since otherwise an emulated CPU
stops whenever this machine runs something else. In each runs `corewise watch --listen 0.0.0.0:9464 --token-file`, and this machine scrapes it
through a forwarded port. The cases, each with what is required:

    siblings   4 CPUs, two threads a core. A load runs in a cgroup, with a rival in another, while `corewise record` records. The differences of
               two scrapes, one before the load and one after, are compared with the recording of the same time: of the load's cgroup, running time
               with siblings busy and idle, ready time by what ran meanwhile, waits and runs with their histograms; of the machine, the time of
               each CPU, of cores with no, one and several threads busy, and the headroom
    unequal    the same on 4 CPUs of which the device tree says that 0-1 have 446 of 1024 of the capacity of 2-3: running time by core type
    hotplug    4 CPUs, two threads a core, no recording. CPUs are taken offline and brought back while threads run on them, one at a time and a
               whole core, and CPU 3 is offline when watching begins: at no scrape an identity is broken or a counter falls; the metric of the CPU
               says 0 while it is offline, its unknown time is the time that it was offline, to OFFLINE_WITHIN; after that it is busy again; the
               time of cores is the time that has passed. `watch -- COMMAND` that ends while CPU 2 is offline says so

Sums of 1 s and more must agree within 0.1 %, smaller ones within 1 ms; buckets as in watch_truth.py. What differs by more is marked, with the reason:

    clocks     at each event the programs of the recorder and of the watcher read the clock one after the other. What lies between the two is not the
               same at a waking as at a switch. At most JITTER / 8 for each wait and run of the load.
    readings   the two readings of the machine's sums are of different moments by the time that they took, for each CPU.

In all cases requests without the token must be refused.

Needs what acceptance/guests_pmu.py needs, and pyarrow. Exits 1 if a case falls short.
"""

import argparse
import json
import re
import socket
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

import corewise
import watch_truth
from pmu import guest

TOKEN = "a-token-for-one-guest"
LOAD, RIVAL = "load", "rival"
PAIRS = {0: 1, 1: 0, 2: 3, 3: 2}
# How far the clock readings of two programs at one event may be apart in an emulated guest, ns.
JITTER = 4_000
OFFLINE_WITHIN = 0.1
METRICS_PORT, STEP_PORT = 9464, 9465

BEGIN = f"""mount -t cgroup2 cgroup2 /sys/fs/cgroup; echo +cpu > /sys/fs/cgroup/cgroup.subtree_control
mkdir /sys/fs/cgroup/{LOAD} /sys/fs/cgroup/{RIVAL}
echo {TOKEN} > /tmp/token; chmod 600 /tmp/token
step() {{ echo "$1" | nc -l -p {STEP_PORT} > /dev/null; }}
within() {{ sh -c "echo \\$\\$ > /sys/fs/cgroup/$1/cgroup.procs; exec sh $2"; }}
begin_watch() {{
    corewise watch --listen 0.0.0.0:{METRICS_PORT} --token-file /tmp/token "$@" > watch.txt 2>&1 &
    watching=$!
    while ! grep -q http:// watch.txt; do kill -0 $watching || break; sleep 0.1; done
}}
spin() {{ taskset $1 timeout $2 sh -c 'while :; do :; done'; }}
"""
RECORDED = BEGIN + f"""
cat > /loads <<'LOADS'
spin() {{ taskset $1 timeout $2 sh -c 'while :; do :; done'; }}
spin 1 4 & spin 2 3 & spin 4 4 &
for n in 0 5 10; do nice -n $n taskset 8 timeout 4 sh -c 'while :; do :; done' & done
wait
for n in 1 2 3 4; do (i=0; while [ $i -lt 60 ]; do sleep 0.0$n; i=$((i+1)); done) & done
i=0; while [ $i -lt 4 ]; do tar -cf - /bin | cat | cat > /dev/null; i=$((i+1)); done
wait
LOADS
echo "taskset 4 timeout 3 sh -c 'while :; do :; done'" > /rivals
cat /proc/[0-9]*/stat > stats
corewise record --no-sample --no-irq --no-power -o run.cw --duration 600 > record.txt 2>&1 &
recording=$!
while [ ! -s run.cw/spool/000000.seg ]; do kill -0 $recording || break; sleep 0.1; done
sleep 1
begin_watch --cgroup /{LOAD} --cgroup /{RIVAL}
step before; step run
within {RIVAL} /rivals & rivals=$!
within {LOAD} /loads; wait $rivals
step after; step end
cat /proc/[0-9]*/stat >> stats
kill -INT $watching $recording; wait $watching; echo $? > watch.status; wait $recording; echo $? > record.status
"""
# Each line of the file `offline`: the CPUs, and /proc/uptime before and after they went, and before and after they came back.
HOTPLUG = BEGIN + """
C=/sys/devices/system/cpu
echo 'now() { read up rest < /proc/uptime; echo $up; }' > /tmp/now; . /tmp/now
gone() {
    before=$(now); for cpu in $1; do echo 0 > $C/cpu$cpu/online; done; after=$(now)
    step "gone $1"; sleep $2; step "back $1"
    since=$(now); for cpu in $1; do echo 1 > $C/cpu$cpu/online; done
    echo "$1|$before|$after|$since|$(now)" >> offline
}
echo 0 > $C/cpu3/online
begin_watch --by process
step before
(while [ ! -e /ended ]; do for mask in 1 2 4 8; do spin $mask 1 2> /dev/null & done; wait; sleep 0.1; done) &
loads=$!
sleep 1; step "back 3"; echo 1 > $C/cpu3/online; sleep 2; step "came 3"
gone 1 3; sleep 1; gone 3 2; sleep 1; gone "2 3" 3; sleep 1; gone 1 1; sleep 2
corewise watch --format json -- sh -c ". /tmp/now; now > /tmp/before; echo 0 > $C/cpu2/online; now > /tmp/after; sleep 1" > finished.json 2> finished.txt
since=$(now); echo 1 > $C/cpu2/online; echo "2|$(cat /tmp/before)|$(cat /tmp/after)|$since|$(now)" >> offline
> /ended
wait $loads
step after; step end
kill -INT $watching; wait $watching; echo $? > watch.status
"""


class Short(Exception):
    """A case cannot be judged; holds a sentence."""


# ---- Scraping ----

class Scrape:
    """The answer of a request: each series' value by its name and labels."""
    LINE = re.compile(r"^(\w+)(?:\{(.*)\})? (\S+)$")
    LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')

    def __init__(self, text):
        self.series, self.counters = {}, set()
        for line in text.splitlines():
            if line.startswith("# TYPE"):
                name, kind = line.split()[2:4]
                if kind != "gauge":
                    self.counters.add(name)
            elif found := self.LINE.match(line):
                self.series[found[1], frozenset(self.LABEL.findall(found[2] or ""))] = float(found[3])

    def sum(self, name, **labels):
        """Adds up all series of a metric that have these labels."""
        wanted = labels.items()
        return sum(value for (of, has), value in self.series.items() if of == name and wanted <= has)

    def ns(self, name, **labels):
        return round(self.sum(name, **labels) * 1e9)

    def values(self, name, label):
        return sorted({dict(has)[label] for of, has in self.series if of == name})

    def is_counter(self, name):
        return name in self.counters or any(name.removesuffix(end) in self.counters for end in ("_bucket", "_sum", "_count"))


class Asked:
    """The guest, as this machine asks it."""

    def __init__(self, ports):
        self.metrics, self.steps = ports

    def ask(self, path, token=TOKEN):
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        request = urllib.request.Request(f"http://127.0.0.1:{self.metrics}{path}", headers=headers)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.read().decode()

    def scrape(self):
        return Scrape(self.ask("/metrics"))

    def status(self, path, token):
        try:
            self.ask(path, token)
            return 200
        except urllib.error.HTTPError as refused:
            return refused.code

    def step(self, patience=200):
        """Waits until the guest is at its next step, and lets it go on; returns the step's name."""
        until = time.monotonic() + patience
        while time.monotonic() < until:
            try:
                # QEMU takes the connection, and closes it if nothing in the guest listens.
                with socket.create_connection(("127.0.0.1", self.steps), timeout=60) as connection:
                    if said := connection.makefile().readline().strip():
                        return said
            except OSError:
                pass
            time.sleep(0.1)
        raise Short("the guest did not go on")


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


# ---- The cases ----

class Case:
    """Boots a guest, and scrapes it meanwhile from a thread of its own."""
    kinds = ()
    cpus = "4,sockets=1,cores=2,threads=2"
    script = RECORDED
    # QEMU counts time by instructions, so that what else runs on this machine stops no emulated CPU between two readings of a clock.
    icount = "shift=2"

    def __init__(self):
        self.problems, self.rows = [], []

    def expect(self, what, seen, true, holds, explained=""):
        """Adds a row. `explained`: the word for why it may differ by more than it should; empty if it must not."""
        difference = f"{(seen - true) / true:+.4%}" if isinstance(true, int) and isinstance(seen, int) and true else "-"
        self.rows.append([what, seen, true, difference, "" if holds else explained or "WRONG"])
        if not holds and not explained:
            self.problems.append(what)

    def measure(self, kit, into):
        ports = free_ports(2)
        of, failed = Asked(ports), []
        machine = guest.Machine(type(self).__name__.lower(), self.cpus, self.kinds, icount=self.icount, memory_mb=1536,
                                ports=tuple(zip(ports, (METRICS_PORT, STEP_PORT))))

        def scrape():
            try:
                self.check_token(of)
                self.scrape(of)
            except Exception as why:  # in a thread of its own: reported by the other one
                failed.append(why)

        thread = threading.Thread(target=scrape, daemon=True)
        guest.boot(kit, machine, self.script, into, patience=250, started=lambda _: thread.start())
        thread.join(timeout=5)
        if failed or thread.is_alive():
            said = (into / "watch.txt").read_text()[-500:]
            raise Short(f"scraping failed: {failed[0] if failed else 'it did not end'}; the watcher said: {said}")
        self.judge(into)

    def check_token(self, of):
        """The guest is at its first step: everything runs."""
        said = of.step()
        if said != "before":
            raise Short(f"the guest is at '{said}'")
        for path, token, status in [("/metrics", None, 401), ("/metrics", TOKEN[:-1] + "x", 401), ("/api/now", None, 401), ("/-/healthy", None, 200)]:
            found = of.status(path, token)
            self.expect(f"{path} {'with a wrong token' if token else 'without a token'}", str(found), str(status), found == status)

    def scrape(self, of):
        of.scrape()
        time.sleep(0.5)
        self.before = of.scrape()
        self.started_ns = json.loads(of.ask("/api/now"))["started_ns"]
        while of.step() != "after":
            pass
        time.sleep(0.5)
        self.after = of.scrape()
        of.step()

    def judge(self, into):
        for what in ("watch", "record"):
            status = (into / f"{what}.status").read_text().strip()
            if status != "0":
                raise Short(f"corewise {what} ended with {status}: {(into / f'{what}.txt').read_text()[-500:]}")
        self.judge_group(into / "run.cw", kernel_threads((into / "stats").read_text()))
        self.judge_machine(into / "run.cw")

    def between(self, name, **labels):
        """What a metric of times rose by between the two scrapes, ns."""
        return self.after.ns(name, **labels) - self.before.ns(name, **labels)

    def judge_group(self, folder, kernel):
        recording = watch_truth.Recording(folder, kernel, LOAD, self.siblings)
        many = len(recording.running) + len(recording.waits)

        def compare(what, seen, true):
            self.expect(f"load: {what}, ns", seen, true, watch_truth.near(seen, true, 0), watch_truth.near(seen, true, many, JITTER) and "clocks")

        running, ready = "corewise_group_running_seconds_total", "corewise_group_ready_seconds_total"
        of = {"group": f"/{LOAD}"}
        compare("running", self.between(running, **of), sum(recording.running))
        for name, cpus in self.types.items():
            true = sum(end - start for cpu, start, end in recording.ran if cpu in cpus)
            compare(f"running on {name}", self.between(running, core_type=name, **of), true)
        if self.siblings:
            true = recording.with_sibling()
            compare("running next to a busy sibling", self.between(running, sibling="busy", **of), true)
            compare("running next to an idle sibling", self.between(running, sibling="idle", **of), sum(recording.running) - true)
        compare("ready", self.between(ready, **of), sum(recording.waits))
        for label, true in zip(("same_group", "other_group", "kernel", "idle", "unknown"), recording.divided().values()):
            compare(f"ready while {label}", self.between(ready, ran_meanwhile=label, **of), true)
        for what, name, true in [("waits", "corewise_group_ready_latency_seconds", recording.waits), ("runs", "corewise_group_run_length_seconds", recording.running)]:
            seen = round(self.after.sum(f"{name}_count", **of) - self.before.sum(f"{name}_count", **of))
            self.expect(f"load: {what}", seen, len(true), watch_truth.same_count(seen, len(true)))
            bounds = self.after.values(f"{name}_bucket", "le")
            worst = max((self.bucket(f"{name}_bucket", of, true, le) for le in bounds), key=lambda bucket: bucket[0])
            self.expect(f"load: {what} up to {worst[3]} s (the worst of {len(bounds)} bounds)", worst[1], worst[2], worst[0] <= 0)

    def bucket(self, name, of, true, le):
        """Returns by how much more than permitted the counts up to a bound differ, both counts, and the bound."""
        seen = round(self.after.sum(name, le=le, **of) - self.before.sum(name, le=le, **of))
        bound = float(le) * 1e9
        count, close = sum(ns <= bound for ns in true), sum(abs(ns - bound) <= JITTER for ns in true)
        return abs(seen - count) - max(10, count * 0.01 if count >= 1000 else 0) - close, seen, count, le

    def judge_machine(self, folder):
        """Compares the sums of the machine between the two readings with the tables of this part of the recording."""
        origin = json.loads((folder / "manifest.json").read_text())["origin_ns"]
        begin, end = (self.started_ns + scrape.ns("corewise_watch_elapsed_seconds_total") - origin for scrape in (self.before, self.after))
        readings = [scrape.ns("corewise_watch_reading_seconds") for scrape in (self.before, self.after)]
        print(f"between the readings: {(end - begin) / 1e9:.3f} s; the readings took {readings[0] / 1e6:.1f} and {readings[1] / 1e6:.1f} ms")

        def table(name):
            part = f"{begin / 1e9:.9f}s..{end / 1e9:.9f}s"
            return corewise.rows_of(corewise.run("table", folder, name, "--range", part, "--format", "json"))

        def compare(what, seen, true, of=1):
            explained = abs(seen - true) <= of * sum(readings) and "readings"
            self.expect(f"{what}, ns", seen, true, watch_truth.near(seen, true, 0), explained)

        parts = ("busy", "idle", "unknown")
        for row in table("cpus"):
            for part in parts:
                compare(f"CPU {row['cpu']} {part}", self.between(f"corewise_cpu_{part}_seconds_total", cpu=str(row["cpu"])), row[f"{part}_ns"])
        running = "corewise_running_seconds_total"
        by_type = table("thread_by_core_type")
        for name, of in self.types.items():
            true = sum(row["running_ns"] for row in by_type if row["core_type"] == name and row["tid"])
            compare(f"running on {name}", self.between(running, core_type=name), true, len(of))
        true = sum(row["running"] * row["duration_ns"] for row in table("concurrency"))
        compare("running, by the table concurrency", self.between(running), true, 4)
        cores = table("smt_cores")
        for label, column in {"none": "idle_ns", "one": "one_busy_ns", "several": "many_busy_ns", "unknown": "unknown_ns"}.items():
            seen = self.between("corewise_core_seconds_total", busy_threads=label)
            compare(f"cores with busy threads: {label}", seen, sum(row[column] for row in cores), 4)
        everything = sum(self.between(f"corewise_cpu_{part}_seconds_total") for part in parts)
        compare("busy, idle and unknown of all CPUs (the time × CPUs)", everything, (end - begin) * 4, 4)
        for row in table("smt_utilisation"):
            name = row["core_type"]
            free, one, several = (self.between("corewise_core_seconds_total", core_type=name, busy_threads=label) for label in ("none", "one", "several"))
            # What a second thread adds to a core with one, as a part of what two do.
            rest = 1 - 1 / row["gain"] if self.siblings else 0
            seen, true = (free + rest * one) / (free + one + several), row["headroom_share"]
            self.expect(f"headroom of {name} cores (gain {row['gain']})", f"{seen:.4f}", f"{true:.4f}", abs(seen - true) <= 0.001)
        violated = int(self.after.sum("corewise_watch_identity_violations_total"))
        self.expect("identities violated", violated, 0, violated == 0)


class Siblings(Case):
    siblings, types = PAIRS, {"uniform": range(4)}


class Unequal(Case):
    kinds = (((0, 1), "arm,cortex-a53-pmu", 446), ((2, 3), "arm,cortex-a72-pmu", 1024))
    cpus = "4"
    siblings, types = {}, {"efficient": (0, 1), "performance": (2, 3)}


class Hotplug(Case):
    script = HOTPLUG
    icount = ""

    def scrape(self, of):
        """Scrapes all the time; `marks` has each step and the number of the first scrape that began after it."""
        self.scrapes, self.marks, ended = [], [], threading.Event()

        def steps():
            try:
                while not ended.is_set():
                    said = of.step()
                    self.marks.append((said, len(self.scrapes) + 1))
                    if said == "end":
                        break
            finally:
                ended.set()

        self.scrapes.append(of.scrape())
        threading.Thread(target=steps, daemon=True).start()
        while not ended.is_set():
            time.sleep(0.3)
            try:
                self.scrapes.append(of.scrape())
            except OSError:
                # After the last step it may have ended.
                if not ended.is_set():
                    raise

    def judge(self, into):
        fallen, broken = [], []
        for number, (before, after) in enumerate(zip(self.scrapes, self.scrapes[1:])):
            for key, value in before.series.items():
                if before.is_counter(key[0]) and after.series.get(key, 0) < value:
                    fallen.append((number, key[0], dict(key[1]), value, after.series.get(key)))
            broken += [(number, dict(labels)["identity"]) for (name, labels), value in after.series.items()
                       if name == "corewise_watch_identity_holds" and not value]
        self.expect(f"counters that fell in {len(self.scrapes)} scrapes", len(fallen), 0, not fallen)
        self.expect("broken identities", len(broken), 0, not broken)
        for words in [*fallen[:5], *broken[:5]]:
            print(f"  {words}")
        gone = {}
        for line in (into / "offline").read_text().splitlines():
            cpus, before, after, since, back = line.split("|")
            for cpu in cpus.split():
                low, high = gone.get(cpu, (0, 0))
                gone[cpu] = (low + float(since) - float(after), high + float(back) - float(before))
        first, last = self.scrapes[0], self.scrapes[-1]
        unknown_of = "corewise_cpu_unknown_seconds_total"
        # CPU 3 was offline when watching began: its first part, up to when it was seen, is not in that list.
        came = next(scrape for scrape in self.scrapes if scrape.sum("corewise_cpu_online", cpu="3"))
        for cpu in map(str, range(4)):
            unknown = last.sum(unknown_of, cpu=cpu) - (came if cpu == "3" else first).sum(unknown_of, cpu=cpu)
            low, high = gone.get(cpu, (0, 0))
            holds = low - OFFLINE_WITHIN <= unknown <= high + OFFLINE_WITHIN
            self.expect(f"CPU {cpu}: unknown, s (offline, s)", f"{unknown:.3f}", f"{low:.2f} to {high:.2f}", holds)
        for name, at in self.marks:
            what, *cpus = name.split()
            if what in ("gone", "came"):
                scrape = self.scrapes[min(at, len(self.scrapes) - 1)]
                seen = " ".join(str(int(scrape.sum("corewise_cpu_online", cpu=cpu))) for cpu in cpus)
                true = " ".join(("0" if what == "gone" else "1") for _ in cpus)
                self.expect(f"online, after: {name}", seen, true, seen == true)
        near_end = self.scrapes[next(at for name, at in self.marks if name == "after") - 9]
        for cpu in map(str, range(4)):
            busy = last.sum("corewise_cpu_busy_seconds_total", cpu=cpu) - near_end.sum("corewise_cpu_busy_seconds_total", cpu=cpu)
            self.expect(f"CPU {cpu}: busy at the end, s", f"{busy:.2f}", "more than 0", busy > 0)
        off = [(abs(scrape.sum("corewise_core_seconds_total") - 2 * scrape.sum("corewise_watch_elapsed_seconds_total")), at)
               for at, scrape in enumerate(self.scrapes)]
        longest = max(scrape.sum("corewise_watch_reading_seconds") for scrape in self.scrapes)
        self.expect(f"time of cores − time × 2 cores, s, at most (scrape {max(off)[1]})", f"{max(off)[0]:.3f}", f"2 readings of {longest:.3f}",
                    max(off)[0] <= 2 * longest)
        finished = json.loads((into / "finished.json").read_text())
        broken = [identity["name"] for identity in finished["identities"] if not identity["holds"]]
        self.expect("watch -- COMMAND: broken identities", ", ".join(broken) or "none", "none", not broken)
        two = next(cpu for cpu in finished["cpus"] if cpu["cpu"] == 2)
        self.expect("watch -- COMMAND: CPU 2 offline, s", f"{two['offline_ns'] / 1e9:.2f}", "0.5 to 1.5", not two["online"] and 0.5e9 <= two["offline_ns"] <= 1.5e9)
        status = (into / "watch.status").read_text().strip()
        self.expect("exit code after SIGINT", status, "0", status == "0")


CASES = {of.__name__.lower(): of for of in (Siblings, Unequal, Hotplug)}


def kernel_threads(stats):
    """Returns the TIDs of the kernel's threads, by lines of /proc/PID/stat: kthreadd and its children."""
    found = re.findall(r"^(\d+) \(.*\) \S (\d+) ", stats, re.M)
    return {int(tid) for tid, parent in found if parent == "2" or tid == "2"}


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("cases", nargs="*", metavar="CASE", help="; ".join(CASES))
    args.add_argument("--keep", type=Path, metavar="DIR", help="keep what the guests bring out")
    args = args.parse_args()
    corewise.need_binary()
    unknown = [name for name in args.cases if name not in CASES]
    if unknown:
        sys.exit(f"watch_guest.py: there is no case {unknown[0]}; the cases are {', '.join(CASES)}")
    lines, short = [], 0
    try:
        with tempfile.TemporaryDirectory(prefix="watch-guest-") as tmp:
            kit = guest.prepare(Path(tmp))
            for name in args.cases or CASES:
                print(f"== {name}", flush=True)
                case = CASES[name]()
                try:
                    case.measure(kit, (args.keep or Path(tmp) / "out") / name)
                except Short as why:
                    case.problems.append(str(why))
                corewise.print_table(["what", "watch", "recording or requirement", "difference", ""], case.rows)
                short += bool(case.problems)
                lines.append(f"{name}: {'met' if not case.problems else 'short: ' + '; '.join(case.problems)}")
    except (guest.Lacking, OSError) as why:
        sys.exit(f"watch_guest.py: {why}")
    print("\n".join(lines))
    return int(bool(short))


if __name__ == "__main__":
    sys.exit(main())
