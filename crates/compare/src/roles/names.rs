//! Names of threads without what differs from run to run: counters, process IDs, addresses, UUIDs.

/// The length at which Linux cuts a thread's name (`TASK_COMM_LEN` − 1), bytes.
pub(super) const CUT: usize = 15;
/// A token of hexadecimal digits is an id from this length on, if it has both digits and letters.
const MIN_HEX: usize = 6;
/// What stands between a name and its counter.
const SEPARATORS: [char; 9] = [' ', '-', '_', '#', '.', ':', '/', '@', '*'];
/// Names that say nothing about what a thread does: defaults of runtimes and libraries.
const GENERIC: [&str; 8] =
    ["thread", "pool-*-thread", "worker", "work", "pthread", "task", "threadpool", "thread-pool"];

/// The name of a thread with `*` instead of each number and id, and without those at its end: `queue*:src`, `pool-*-thread`, `mc-worker`. A
/// name that has nothing else is `*`. Digits within a word (`mp3enc`) or after one letter at the begin (`C2 CompilerThre`) are part of it.
pub(super) fn base(name: &str) -> String {
    normalised(name, |letters, is_last| letters > 1 || is_last)
}

/// The name of a process without numbers and ids: `java` of `java-12345`. Digits of a word (`cc1`, `x264`) are part of it.
pub(super) fn process_base(name: &str) -> String {
    normalised(name, |_, _| false)
}

/// `is_counter`: whether digits that follow so many letters, in the last token or another, are a counter.
fn normalised(name: &str, is_counter: impl Fn(usize, bool) -> bool) -> String {
    let name = &without_uuids(name);
    let mut out = String::with_capacity(name.len());
    let mut rest = name.as_str();
    let mut after_id = false;
    while let Some(at) = rest.find(SEPARATORS) {
        let (token, after) = rest.split_at(at);
        after_id = push_token(&mut out, token, after_id, |letters| is_counter(letters, false));
        out.extend(after.chars().take(1));
        rest = after.get(1..).unwrap_or_default();
    }
    push_token(&mut out, rest, after_id, |letters| is_counter(letters, true));
    match out.trim_end_matches(SEPARATORS) {
        "" if name.is_empty() => String::new(),
        "" => "*".to_owned(),
        end => end.to_owned(),
    }
}

/// The groups of hexadecimal digits of a UUID (RFC 9562, section 4).
const UUID: [usize; 5] = [8, 4, 4, 4, 12];

/// A name with `0` for each UUID.
fn without_uuids(name: &str) -> String {
    let mut tokens: Vec<&str> = name.split('-').collect();
    let mut at = 0;
    while at + UUID.len() <= tokens.len() {
        let is_group =
            |(token, len): (&&str, &usize)| token.len() == *len && token.bytes().all(|b| b.is_ascii_hexdigit());
        if tokens.iter().skip(at).zip(&UUID).all(is_group) {
            tokens.splice(at..at + UUID.len(), ["0"]);
        }
        at += 1;
    }
    tokens.join("-")
}

/// Appends a token, or `*`. Returns whether it is a long id: the rest of one that is cut may follow.
fn push_token(out: &mut String, token: &str, after_id: bool, is_counter: impl Fn(usize) -> bool) -> bool {
    let hex = token.strip_prefix("0x").unwrap_or(token);
    let has = |of: fn(&u8) -> bool| token.as_bytes().iter().any(of);
    let is_hex = !hex.is_empty() && hex.bytes().all(|b| b.is_ascii_hexdigit());
    let is_mixed = has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic);
    let word = token.trim_end_matches(|c: char| c.is_ascii_digit());
    let is_number = word.is_empty() && !token.is_empty();
    let is_id = is_hex && (after_id || is_mixed && (hex.len() >= MIN_HEX || hex.len() < token.len()));
    if is_number || is_id {
        out.push('*');
    } else if word.len() < token.len() && is_counter(word.chars().count()) {
        out.push_str(word);
        out.push('*');
    } else {
        out.push_str(token);
    }
    is_hex && (is_id || is_number) && hex.len() >= MIN_HEX
}

/// The name of a pool that has a number of its own, such as `pool-1-thread` of `pool-1-thread-7`; `None` for a name with fewer numbers.
pub(super) fn numbered_pool(name: &str) -> Option<&str> {
    let pool = name.trim_end_matches(|c: char| c.is_ascii_digit());
    (pool.len() < name.len() && pool.bytes().any(|b| b.is_ascii_digit())).then_some(pool)
}

/// Whether a name (see [`base`]) says nothing about what a thread does.
pub(super) fn is_generic(base: &str) -> bool {
    base == "*" || base.is_empty() || GENERIC.iter().any(|name| base.eq_ignore_ascii_case(name))
}

/// The name of a kernel thread without its CPU and what it works on: all `kworker` are one role.
pub(super) fn kernel_base(name: &str) -> String {
    if name.starts_with("kworker/") {
        return "kworker".to_owned();
    }
    let (front, back) = name.split_once('/').unwrap_or((name, ""));
    let is_of_cpu =
        back.split(':').next().is_some_and(|cpu| !cpu.is_empty() && cpu.bytes().all(|b| b.is_ascii_digit()));
    if is_of_cpu { base(front) } else { base(name) }
}

#[cfg(test)]
mod tests {
    use super::{base, is_generic, kernel_base, numbered_pool, process_base};

    #[test]
    fn counters_and_ids_are_no_part_of_a_base() {
        for (name, expected) in [
            ("Worker-3", "Worker"),
            ("worker#12", "worker"),
            ("tokio-runtime-w", "tokio-runtime-w"),
            ("ThreadPoolForeg", "ThreadPoolForeg"),
            ("pool-1-thread-7", "pool-*-thread"),
            ("pool-10-thread-", "pool-*-thread"),
            ("java-12345", "java"),
            ("10_dirty_io_sch", "*_dirty_io_sch"),
            ("puma srv tp 001", "puma srv tp"),
            ("queue0:src", "queue*:src"),
            ("conn-7f3a9c001b20", "conn"),
            ("conn-0x7f", "conn"),
            ("decade", "decade"),
            ("wk0", "wk"),
            ("w1", "w"),
            ("mp3enc-2", "mp3enc"),
            ("C2 CompilerThre", "C2 CompilerThre"),
            ("G1 Refine#1", "G1 Refine"),
            ("7042", "*"),
            ("#7", "*"),
            ("", ""),
            ("---", "*"),
            ("ü\u{202e}\n3", "ü\u{202e}\n"),
        ] {
            assert_eq!(base(name), expected, "{name:?}");
        }
    }

    #[test]
    fn programs_keep_the_digits_of_their_names() {
        for (name, expected) in [
            ("cc1", "cc1"),
            ("x264", "x264"),
            ("java-12345", "java"),
            ("python3.11", "python3"),
            ("gst-launch-1.0", "gst-launch"),
        ] {
            assert_eq!(process_base(name), expected);
        }
    }

    #[test]
    fn uuids_leave_no_trace() {
        let (a, b) =
            (base("job-550e8400-e29b-41d4-a716-446655440000"), base("job-1b4e28ba-2fa1-11d2-883f-0016d3cca427"));
        assert_eq!((a.as_str(), b.as_str()), ("job", "job"));
        assert_eq!((base("job-550e8400-e2"), base("job-1b4e28ba-2f")), (a, b));
    }

    #[test]
    fn kernel_threads_have_no_cpu() {
        for (name, expected) in [
            ("kworker/1:2-events", "kworker"),
            ("kworker/u8:3", "kworker"),
            ("ksoftirqd/1", "ksoftirqd"),
            ("migration/0", "migration"),
            ("irq/24-ACPI:Ged", "irq/*-ACPI:Ged"),
            ("jbd2/vda-8", "jbd*/vda"),
        ] {
            assert_eq!(kernel_base(name), expected);
        }
    }

    #[test]
    fn pools_with_a_number() {
        assert_eq!(numbered_pool("pool-1-thread-7"), Some("pool-1-thread-"));
        assert_eq!(numbered_pool("worker-7"), None);
        assert!(
            is_generic(&base("Thread-17")) && is_generic(&base("pool-2-thread-1")) && !is_generic(&base("GC Thread#1"))
        );
    }
}
