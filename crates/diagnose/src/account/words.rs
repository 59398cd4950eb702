//! The sentences of statements.

use super::pick::{Does, Found, Kind, link_kind, own_parts, threads, wait_kind};
use super::{About, Explained, Statement};
use crate::finding::Confidence;
use crate::objective::{Compared, ObjectiveKind};
use engine::critical::{Node, Wait, WaitId};
use model::words::{ms, percent, percent_of, plural, short, time};
use model::{Ns, ThreadKey, WaitKind};

/// From this part of its running time on, a thread runs alone.
const MIN_ALONE: f64 = 0.7;
/// From this part on, one of several things is named as what was done.
const MIN_MOST: f64 = 0.6;
/// Above this part of a slow window's time, that of a typical one is stated too.
const MIN_TYPICAL: f64 = 0.05;
/// The CPUs are full from this part of their time on.
const MIN_FULL: f64 = 0.9;
/// Below this part of the CPUs' time, none of them is idle.
const MAX_IDLE: f64 = 0.1;
/// A part is in both halves of the windows if the half with less of it has at least this part of the other's.
const MIN_OF_HALF: f64 = 0.2;
/// The maximum number of characters of a path.
const MAX_PATH: usize = 48;
/// The number of windows from which on a part is not seen by accident.
const MIN_SEEN: i64 = 10;

/// The number of turns of a thread on the path is stated from this one on, if they are no longer than this on average.
const MIN_TURNS: i64 = 1000;
const MAX_TURN: Ns = Ns(100_000);

/// The call of a wait in a page fault.
const PAGE_FAULT: &str = "page_fault";

/// Rates at which programs usually do something, per second.
const USUAL_RATES: [i64; 20] = [1, 2, 5, 10, 20, 24, 25, 30, 48, 50, 60, 75, 90, 100, 120, 144, 200, 240, 500, 1000];
/// By how much a period is longer than that of a usual rate, if the rate is meant and missed.
const MISSED: std::ops::Range<f64> = 1.004..1.09;
/// With fewer periods, their length is not stated.
const MIN_PERIODS: usize = 20;

/// Whether a wait of this kind that an interrupt ended was ended by a timeout, as far as that shows.
fn is_timeout(kind: WaitKind) -> bool {
    use WaitKind::{Epoll, Parker, Several, Signal, Sleep, TimerFd};
    matches!(kind, Sleep | TimerFd | Epoll | Several | Signal | Parker)
}

/// By how much a period is longer than that of a usual rate, if that rate seems to be meant.
fn missed(period: Ns) -> Option<String> {
    let rate = USUAL_RATES.iter().find(|rate| MISSED.contains(&(period.as_f64() * **rate as f64 / 1e9)))?;
    let later = time(period - Ns(1_000_000_000) / *rate);
    Some(format!("each {later} later than a rate of {rate} per second allows"))
}

impl Explained<'_, '_> {
    /// How often the timers of a thread end its sleep, and whether that is less than a usual rate.
    fn rate(&self, thread: ThreadKey) -> String {
        let Some(median) = self.median_period(thread) else { return String::new() };
        let missed = missed(median).map_or_else(String::new, |missed| format!(", {missed}"));
        format!(": every {} at the median{missed}", time(median))
    }

    fn median_period(&self, thread: ThreadKey) -> Option<Ns> {
        let periods = self.periods.get(&thread).filter(|all| all.len() >= MIN_PERIODS)?;
        Some(periods[periods.len() / 2])
    }

    /// Puts a part into words.
    pub(super) fn statement(&self, found: &Found) -> Statement {
        let node = &self.account.nodes[found.node];
        let whole = self.whole().max(Ns(1));
        let share = found.time.as_f64() / whole.as_f64();
        let (about, what) = match &found.what {
            Kind::Does(does) => self.does(found, *does),
            Kind::Waits(below) => (About::Waiting, self.waits(found, *below)),
            Kind::InTurn(all) => (About::InTurn, self.in_turn(found, all)),
        };
        let saves_at_most_ns = self.saving(found);
        // Whether a timer is set too late is not known.
        let is_timer = self.is_timer(found);
        let saves = match &found.what {
            Kind::Does(_) if is_timer => format!(", as its timers are set{}", self.rate(node.thread())),
            Kind::Does(Does::Exited | Does::Unknown) => String::new(),
            _ if is_timer => String::new(),
            Kind::Does(Does::Running) if self.is_to_end() => match self.is_full_meanwhile(found) {
                true => String::new(),
                false => format!("; dividing it saves at most {} ms", ms(self.divided(found))),
            },
            Kind::InTurn(_) => match self.turns(found) {
                Some(turns) => format!("; together they take {} ms less at most", ms(turns.saved)),
                None => String::new(),
            },
            _ => format!("; at most {} ms are saved", ms(saves_at_most_ns)),
        };
        let text = format!("{}{} {what}{saves}", self.place(), self.who(node));
        Statement {
            about,
            text,
            time_ns: found.time,
            share: share.min(1.0),
            saves_at_most_ns,
            confidence: self.confidence(found),
            threads: threads(self, found),
            windows: self.windows(found),
            finding: None,
        }
    }

    /// Whether what is stated is mostly a sleep by a timer: of the thread itself, or of the one for which it waits.
    pub(super) fn is_timer(&self, found: &Found) -> bool {
        let is_sleep = |does: &Does| {
            let Does::Blocked(Some(wait)) = does else { return false };
            let kind = self.account.waits.get(*wait as usize).and_then(|wait| wait_kind(&wait.kind));
            kind.is_some_and(is_timeout)
        };
        match &found.what {
            Kind::Does(does) => is_sleep(does),
            Kind::Waits(below) => {
                let sleeps = own_parts(self, *below).into_iter().filter(|(does, _)| is_sleep(does));
                let slept: Ns = sleeps.map(|(_, times)| self.time(&times)).sum();
                slept.as_f64() >= MIN_MOST * self.time(&self.sums[*below]).as_f64()
            }
            Kind::InTurn(_) => false,
        }
    }

    /// No window was late, or few were.
    pub(super) fn few_late(&self) -> Statement {
        let objective = &self.path.objective;
        let all = plural(objective.count.unsigned_abs(), self.window());
        let [longest, allowed] = [objective.longest_ns, objective.deadline_ns.unwrap_or_default()].map(time);
        let text = match objective.late {
            0 => format!("None of {all} was late: the longest took {longest} of {allowed}"),
            late => format!("Only {late} of {all} took longer than {allowed}: the longest took {longest}"),
        };
        let median = objective.thread.and_then(|thread| self.median_period(thread));
        let threads = objective.thread.into_iter().collect();
        match median.and_then(|median| Some((median, missed(median)?))) {
            Some((median, missed)) => {
                let text = format!("{text}. But they begin every {} at the median, {missed}", time(median));
                Statement { about: About::Blocked, ..Self::healthy(text, threads) }
            }
            None => Self::healthy(text, threads),
        }
    }

    /// The states of the threads are mostly unknown.
    pub(super) fn unknown(&self, found: &Found) -> Statement {
        let text = format!(
            "The states of the threads are unknown for {} of the path: record the events sched_switch and sched_waking, without losses",
            percent(found.time, self.whole())
        );
        Self::of_unknown(text)
    }

    /// A statement that something is unknown.
    pub(super) fn of_unknown(text: String) -> Statement {
        Statement { about: About::Unknown, ..Self::healthy(text, Vec::new()) }
    }

    /// Whether the program uses all CPUs to the end, and the path runs.
    pub(super) fn is_full(&self, found: &[Found]) -> bool {
        let is_run = |found: &Found| found.what == Kind::Does(Does::Running);
        let runs: Ns = found.iter().filter(|found| is_run(found)).map(|found| found.time).sum();
        self.is_to_end()
            && self.cpus > 1
            && self.work.as_f64() >= MIN_FULL * self.ctx.span().len().as_f64()
            && runs.as_f64() >= MIN_ALONE * self.whole().as_f64()
    }

    /// The program uses all CPUs to the end.
    pub(super) fn full(&self) -> Statement {
        let share = self.work.as_f64() / self.ctx.span().len().max(Ns(1)).as_f64();
        let text = format!(
            "The program runs on all {} for {} of their time: only less work, or more or faster cores, end it earlier",
            plural(self.cpus.unsigned_abs(), "CPU"),
            percent_of(share)
        );
        Self::healthy(text, Vec::new())
    }

    fn healthy(text: String, threads: Vec<ThreadKey>) -> Statement {
        let (time_ns, saves_at_most_ns) = (Ns::ZERO, Ns::ZERO);
        let confidence = Confidence::High;
        Statement {
            about: About::Healthy,
            text,
            time_ns,
            share: 0.0,
            saves_at_most_ns,
            confidence,
            threads,
            windows: Vec::new(),
            finding: None,
        }
    }

    /// The word for one of the objective's windows.
    pub(super) fn window(&self) -> &'static str {
        match self.path.objective.kind {
            ObjectiveKind::Period => "period",
            ObjectiveKind::Requests => "request",
            ObjectiveKind::Marks => "mark",
            ObjectiveKind::End | ObjectiveKind::Thread | ObjectiveKind::Throughput => "run",
        }
    }

    /// The windows that the sentence is about.
    fn place(&self) -> String {
        let count = self.account.counts[0];
        let windows = |adjective: &str| plural(count.unsigned_abs(), &format!("{adjective}{}", self.window()));
        let of = match &self.path.objective.name {
            Some(name) if self.is_second => format!(" of {name},"),
            _ => String::new(),
        };
        match self.path.compared {
            _ if self.is_to_end() => String::new(),
            Compared::Slow if self.path.objective.deadline_ns.is_some() => format!("In the {}{of} ", windows("late ")),
            Compared::Slow => format!("In the {}{of} ", windows("slow ")),
            Compared::All | Compared::FewLate => format!("In each of {}{of} ", windows("")),
        }
    }

    /// How long a thread waits for something.
    fn waited(&self, found: &Found) -> String {
        let is_compared = !self.is_to_end() && self.path.compared == Compared::Slow;
        self.length(found) + if is_compared { "," } else { "" }
    }

    /// For how long a thread does something.
    fn amount(&self, found: &Found) -> String {
        format!("for {}", self.length(found))
    }

    /// How long, compared with what.
    fn length(&self, found: &Found) -> String {
        let whole = self.whole();
        if self.is_to_end() {
            return format!(
                "{} of the path ({}{})",
                percent(found.time, whole),
                time(found.time),
                self.turns_of(found)
            );
        }
        let mean = |at: usize| found.times.path[at] / self.account.counts[at].max(1);
        match self.path.compared {
            Compared::Slow if mean(1).as_f64() > MIN_TYPICAL * mean(0).as_f64() => {
                format!("{} each, and {} in typical ones", time(mean(0)), time(mean(1)))
            }
            Compared::Slow => format!("{} each, and hardly in typical ones", time(mean(0))),
            Compared::All | Compared::FewLate => format!("{} of {}", time(found.time), time(whole)),
        }
    }

    /// Into how many short turns the time is divided, if that may matter: each costs a wakeup and a switch.
    fn turns_of(&self, found: &Found) -> String {
        let turns: i64 = found.nodes.iter().map(|node| self.account.nodes[*node].visits[0]).sum();
        let mean = found.time / turns.max(1);
        if turns < MIN_TURNS || mean > MAX_TURN {
            return String::new();
        }
        format!(", in {} of {} on average", plural(turns.unsigned_abs(), "turn"), time(mean))
    }

    /// The threads of a node.
    fn who(&self, node: &Node) -> String {
        let name = self.ctx.name(node.thread());
        match node.threads.len() {
            0 | 1 => format!("`{name}`"),
            many => {
                let role = self.account.roles.get(node.role).and_then(|role| role.name.as_deref()).unwrap_or(&name);
                format!("one of {many} threads `{role}`")
            }
        }
    }

    fn does(&self, found: &Found, does: Does) -> (About, String) {
        let amount = self.amount(found);
        match does {
            Does::Running => (About::Running, self.runs(found, &amount)),
            Does::Ready(instead) => (About::Ready, format!("{} {amount}", self.waits_for_cpu(found.node, instead))),
            Does::WakeupLatency => {
                (About::Ready, format!("is woken and does not run yet, while its CPU is idle, {amount}"))
            }
            Does::Throttled => (About::Throttled, format!("is throttled by the CPU quota of its cgroup {amount}")),
            Does::Blocked(wait) => (About::Blocked, format!("{} {amount}", self.blocked(wait))),
            Does::Exited => (About::Unknown, format!("has exited {amount}")),
            Does::Unknown => (About::Unknown, format!("is in an unknown state {amount}")),
        }
    }

    /// What a ready thread of a node does, as a predicate; `instead`: the role of the thread that runs there.
    fn waits_for_cpu(&self, node: usize, instead: Option<usize>) -> String {
        let own = &self.account.nodes[node];
        match instead.and_then(|role| Some((role, self.account.roles.get(role)?))) {
            // One of the same name, such as another worker of its pool.
            Some((role, _)) if role == own.role => {
                "waits for a CPU while another thread of its role runs there".to_owned()
            }
            Some((_, role)) => format!("waits for a CPU while `{}` runs there", self.ctx.name(role.thread)),
            None => "waits for a CPU".to_owned(),
        }
    }

    /// Whether no CPU is idle while a thread runs, so that its work cannot be divided.
    fn is_full_meanwhile(&self, found: &Found) -> bool {
        let (idle, others) = (found.times.idle[0], found.times.path[0] * (self.cpus - 1).max(0));
        idle.as_f64() < MAX_IDLE * others.as_f64() || others <= Ns::ZERO
    }

    fn runs(&self, found: &Found, amount: &str) -> String {
        let (path, alone, idle) = (found.times.path[0], found.times.alone[0], found.times.idle[0]);
        let others = path * (self.cpus - 1).max(0);
        let is_alone = alone.as_f64() >= MIN_ALONE * path.as_f64();
        let alone = if is_alone { "runs alone" } else { "runs" };
        if others <= Ns::ZERO {
            return format!("{alone} {amount}");
        }
        if self.is_full_meanwhile(found) {
            return format!(
                "{alone} {amount}, and no CPU is idle: only less work, or more or faster cores, end it earlier"
            );
        }
        let which = if self.cpus == 2 { "the other CPU is".to_owned() } else { "the other CPUs are".to_owned() };
        format!("{alone} {amount}; {which} idle for {} of that time", percent(idle.min(others), others))
    }

    /// What a blocked thread does, as a predicate.
    fn blocked(&self, wait: Option<WaitId>) -> String {
        let Some(wait) = wait.and_then(|wait| self.account.waits.get(wait as usize)) else {
            return "is blocked".to_owned();
        };
        let call = wait.reason.as_deref().map_or_else(String::new, |call| format!(" in {}", short(call, 32)));
        let name = wait.name.as_deref().map_or_else(String::new, |name| format!(" ({})", short(name, MAX_PATH)));
        match wait_kind(&wait.kind) {
            Some(WaitKind::Sleep | WaitKind::TimerFd) => format!("sleeps by its own timer{call}"),
            Some(kind) if is_timeout(kind) => format!("sleeps until a timeout or an interrupt{call}"),
            Some(WaitKind::File) => format!("waits for a file{call}{name}"),
            Some(WaitKind::Device) => format!("waits for a device{call}{name}"),
            Some(WaitKind::Socket) => format!("waits for a socket{call}{name}, until an interrupt wakes it,"),
            Some(WaitKind::Child) => format!("waits for a child process{call}"),
            Some(kind) if kind.is_lock() => format!("waits for a lock{call}"),
            Some(_) => format!("waits{call}{name}"),
            None if wait.reason.as_deref() == Some(PAGE_FAULT) => "waits for a page of memory to be read".to_owned(),
            None => format!("is blocked{call}"),
        }
    }

    /// For what those above a node wait.
    fn awaited(&self, node: &Node, kind: Option<WaitKind>) -> String {
        let who = self.who(node);
        let wait = node.link.and_then(|link| self.account.waits.get(link as usize));
        let name = wait
            .and_then(|wait| wait.name.as_deref())
            .map_or_else(String::new, |name| format!(" {}", short(name, MAX_PATH)));
        let is_held = node.held * 2 >= node.visits.iter().sum::<i64>() && node.held > 0;
        match kind {
            Some(kind) if kind.is_lock() => {
                let lock = match kind {
                    WaitKind::RwLock => "a read-write lock",
                    WaitKind::KernelMutex => "a mutex of the kernel",
                    WaitKind::KernelRwLock => "a read-write lock of the kernel",
                    _ => "a mutex",
                };
                format!("{lock} that {who} {}", if is_held { "holds" } else { "gives back" })
            }
            Some(WaitKind::Thread) => format!("the end of {who}"),
            Some(WaitKind::Child) => format!("the child process {who}"),
            Some(WaitKind::Pipe) => format!("{who} (a pipe{name})"),
            Some(WaitKind::Socket) => format!("{who} (a socket{name})"),
            Some(WaitKind::Signal) => format!("{who} (a condition variable, semaphore or queue)"),
            Some(WaitKind::EventFd) => format!("{who} (an eventfd)"),
            Some(WaitKind::Epoll) => format!("{who} (an epoll set)"),
            Some(_) | None => who,
        }
    }

    fn waits(&self, found: &Found, below: usize) -> String {
        let node = &self.account.nodes[below];
        let kind = link_kind(self, below).and_then(wait_kind);
        let awaited = self.awaited(node, kind);
        let does = self.meanwhile(below);
        format!("waits {} for {awaited}{does}", self.waited(found))
    }

    /// What the threads of a node do while others wait for them.
    fn meanwhile(&self, node: usize) -> String {
        let whole = self.time(&self.sums[node]);
        let own = own_parts(self, node).into_iter().map(|(does, times)| (self.time(&times), Ok(does)));
        let below = self.account.below(Some(node)).map(|below| (self.time(&self.sums[below]), Err(below)));
        let mut parts: Vec<(Ns, Result<Does, usize>)> = own.chain(below).collect();
        parts.sort_by_key(|(time, part)| (std::cmp::Reverse(*time), part.is_err()));
        let words = |part: &Result<Does, usize>| match part {
            Ok(Does::Running) => "runs".to_owned(),
            Ok(Does::Ready(instead)) => self.waits_for_cpu(node, *instead),
            Ok(Does::WakeupLatency) => "is woken and does not run yet".to_owned(),
            Ok(Does::Throttled) => "is throttled by the CPU quota of its cgroup".to_owned(),
            Ok(Does::Blocked(wait)) => self.blocked(*wait).trim_end_matches(',').to_owned(),
            Ok(Does::Exited | Does::Unknown) => "is in an unknown state".to_owned(),
            Err(below) => {
                let kind = link_kind(self, *below).and_then(wait_kind);
                format!("waits for {}", self.awaited(&self.account.nodes[*below], kind))
            }
        };
        let is_most = parts.first().is_some_and(|(time, _)| time.as_f64() >= MIN_MOST * whole.as_f64());
        let named = parts.iter().take(if is_most { 1 } else { 2 }).map(|(_, part)| words(part));
        match named.collect::<Vec<_>>()[..] {
            [] => String::new(),
            [ref one] => format!(", which {one} meanwhile"),
            [ref one, ref other, ..] => format!(", which {one}, and {other}"),
        }
    }

    fn in_turn(&self, found: &Found, all: &[usize]) -> String {
        let names: Vec<String> = all.iter().map(|node| self.who(&self.account.nodes[*node])).collect();
        format!("waits {} for {}, one after another", self.waited(found), names.join(", then "))
    }

    /// Whether the later slow windows have it as the earlier ones do.
    fn is_in_both_halves(&self, found: &Found) -> bool {
        let each: Vec<Vec<Ns>> = found.nodes.iter().map(|node| self.account.in_windows(*node)).collect();
        let slow: Vec<usize> = self.path.slow_windows().collect();
        let (early, late) = slow.split_at(slow.len() / 2);
        let sum = |half: &[usize]| {
            let times = each.iter().flat_map(|of| half.iter().filter_map(|at| of.get(*at)));
            times.copied().sum::<Ns>()
        };
        let (early, late) = (sum(early), sum(late));
        early.min(late).as_f64() >= MIN_OF_HALF * early.max(late).as_f64()
    }

    /// How sure it is: what is waited for must be recorded, and it must be seen often, in both halves of the windows.
    fn confidence(&self, found: &Found) -> Confidence {
        let is_known = found.nodes.iter().all(|node| match &found.what {
            Kind::Does(Does::Exited | Does::Unknown) => false,
            Kind::Does(_) => true,
            Kind::Waits(_) | Kind::InTurn(_) => {
                link_kind(self, *node).is_some_and(|kind| kind == Wait::START || wait_kind(kind).is_some())
            }
        });
        let seen = self.account.counts[0];
        let is_often = self.is_to_end() || (seen >= MIN_SEEN && self.is_in_both_halves(found));
        match (is_known, is_often) {
            (true, true) => Confidence::High,
            (false, false) => Confidence::Low,
            _ => Confidence::Medium,
        }
    }
}
