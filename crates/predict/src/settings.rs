//! Changes of a program: `thread(encode).nice=-5`, `process(make).policy=idle`, `thread(7012).affinity=0-3`.

use crate::demand::{Demand, Of};
use model::did_you_mean;
use simulate::{Class, Cpus};

/// A setting that threads get.
#[derive(Clone, PartialEq, Debug)]
pub struct Setting {
    whose: Whose,
    to: To,
}

/// Whose setting it is.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Whose {
    /// Threads of this name, or the thread with this TID.
    Thread(String),
    /// All threads of processes whose first thread has this name, or of the process with this PID.
    Process(String),
}

#[derive(Clone, PartialEq, Debug)]
enum To {
    Nice(i8),
    Policy(Class),
    Affinity(Cpus),
}

impl Setting {
    /// Reads a change.
    ///
    /// # Errors
    /// It is not one: a sentence that says what is.
    pub fn parse(text: &str) -> Result<Self, String> {
        const FORM: &str = "write thread(NAME).nice=N, .policy=other|batch|idle|fifo:PRIORITY|rr:PRIORITY or .affinity=CPUS; process(NAME) is for all threads of a process";
        let (left, value) = text.split_once('=').ok_or_else(|| format!("`{text}` sets nothing: {FORM}"))?;
        let (whose, what) =
            left.rsplit_once(").").ok_or_else(|| format!("`{text}` does not say whose setting: {FORM}"))?;
        let whose = match whose.split_once('(') {
            Some(("thread", name)) if !name.is_empty() => Whose::Thread(name.to_owned()),
            Some(("process", name)) if !name.is_empty() => Whose::Process(name.to_owned()),
            _ => return Err(format!("`{whose})` is neither a thread nor a process: {FORM}")),
        };
        let to = match what {
            "nice" => value.parse().ok().filter(|nice| (-20..=19).contains(nice)).map(To::Nice),
            "policy" => policy(value).map(To::Policy),
            "affinity" => topology::cpulist::parse(value)
                .ok()
                .filter(|cpus| !cpus.is_empty())
                .map(|cpus| To::Affinity(Cpus::of(cpus.into_iter().map(|cpu| cpu.0 as usize)))),
            _ => return Err(format!("`{what}` is not a setting: {FORM}")),
        };
        to.map(|to| Self { whose, to }).ok_or_else(|| format!("`{value}` is no value of {what}: {FORM}"))
    }

    /// Applies it to a program; returns how many threads it is for.
    ///
    /// # Errors
    /// It is for none.
    pub fn apply(&self, demand: &mut Demand) -> Result<usize, String> {
        let named: Vec<i32> = match &self.whose {
            Whose::Thread(_) => Vec::new(),
            Whose::Process(name) => {
                let first = |of: &&Of| of.pid == Some(of.tid) && of.name == *name;
                demand.threads.iter().filter(first).filter_map(|of| of.pid).chain(name.parse()).collect()
            }
        };
        let is_meant = |of: &Of| match &self.whose {
            Whose::Thread(name) => of.name == *name || name.parse() == Ok(of.tid),
            Whose::Process(_) => of.pid.is_some_and(|pid| named.contains(&pid)),
        };
        let mut count = 0;
        for (of, thread) in demand.threads.iter().zip(&mut demand.program.threads).filter(|(of, _)| is_meant(of)) {
            count += 1;
            match &self.to {
                To::Nice(nice) => thread.nice = *nice,
                To::Policy(class) => thread.class = *class,
                To::Affinity(cpus) => thread.affinity = Some(cpus.clone()),
            }
            debug_assert_eq!(of.name, thread.name);
        }
        if count > 0 {
            return Ok(count);
        }
        let names = demand.threads.iter().map(|of| of.name.as_str());
        Err(match &self.whose {
            Whose::Thread(name) => format!("no thread {name} ran{}", did_you_mean(name, names)),
            Whose::Process(name) => format!("no process {name} ran{}", did_you_mean(name, names)),
        })
    }
}

fn policy(text: &str) -> Option<Class> {
    let priority = |text: &str| text.parse().ok().filter(|priority| (1..=99).contains(priority));
    match text.split_once(':') {
        None => match text {
            "other" => Some(Class::Other),
            "batch" => Some(Class::Batch),
            "idle" => Some(Class::Idle),
            _ => None,
        },
        Some(("fifo", level)) => priority(level).map(Class::Fifo),
        Some(("rr", level)) => priority(level).map(Class::RoundRobin),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{Setting, To, Whose};
    use simulate::{Class, Cpus};

    #[test]
    fn changes_are_read() {
        let parsed = |text| Setting::parse(text).unwrap();
        let thread = |name: &str| Whose::Thread(name.to_owned());
        assert_eq!(parsed("thread(a).nice=-5"), Setting { whose: thread("a"), to: To::Nice(-5) });
        assert_eq!(
            parsed("thread(kworker/0:1).policy=fifo:50"),
            Setting { whose: thread("kworker/0:1"), to: To::Policy(Class::Fifo(50)) }
        );
        let process = Whose::Process("make".to_owned());
        assert_eq!(
            parsed("process(make).affinity=0-1,4"),
            Setting { whose: process, to: To::Affinity(Cpus::of([0, 1, 4])) }
        );
    }

    #[test]
    fn what_is_not_a_change_is_named() {
        for (text, named) in [
            ("nice", "sets nothing"),
            ("a.nice=5", "does not say whose"),
            ("cpu(0).nice=5", "neither a thread nor a process"),
            ("thread(a).colour=5", "is not a setting"),
            ("thread(a).nice=50", "is no value of nice"),
            ("thread(a).policy=fifo:0", "is no value of policy"),
            ("thread(a).affinity=", "is no value of affinity"),
        ] {
            let error = Setting::parse(text).unwrap_err();
            assert!(error.contains(named), "{text}: {error}");
        }
    }
}
