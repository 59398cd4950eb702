//! The meaning of `prev_state` numbers, read from the print format of the recording's own `sched_switch`
//! (docs/accounting.md): its table of flags and its preempt bit. Since Linux 4.14, R+ is 256, P 64, X 16 and Z 32. Before
//! 4.14, 64 was dead and R+ was the highest bit. No fixed table is right for both.
//!
//! Some kernels from 4.14 to 4.19 print bits and store an index (kernel commit 3f5fe9fef5b2). As no thread waits in two of
//! S, D and T, the numbers 3, 5, 6 and 7 show an index by themselves. Whether 4 and 8 do, the recording as a whole shows
//! ([`ingest::StateReading`]).

use super::format::EventFormat;
use ingest::StateSource;
use model::SwitchOut;

/// The meaning of a recording's state numbers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct States {
    /// (bit, state letter), as in the format's flag table.
    flags: Vec<(u64, u8)>,
    /// The bit for "preempted".
    preempted: u64,
    /// The bits that are printed as flags.
    mask: u64,
    /// The meanings of the lowest numbers, which are the only ones on most kernels.
    low: Vec<(SwitchOut, u8)>,
}

/// The number of precomputed meanings.
const LOW: u64 = 512;

impl States {
    /// Reads the print format of `sched_switch`. A format without a flag table gets Linux 4.14's.
    pub(crate) fn from_print(print: &str) -> Self {
        let flags = flag_table(print);
        // `REC->prev_state & <bit> ? "+" : ""`: the expression before the plus.
        let preempted = print
            .find("? \"+\"")
            .and_then(|end| print.get(..end))
            .and_then(|before| before.rfind("prev_state &").and_then(|at| before.get(at + "prev_state &".len()..)))
            .and_then(evaluate);
        if flags.is_empty() {
            let flags = [(1, b'S'), (2, b'D'), (4, b'T'), (8, b't'), (16, b'X'), (32, b'Z'), (64, b'P'), (128, b'I')];
            return Self::new(flags.to_vec(), 256);
        }
        Self::new(flags, preempted.unwrap_or(0))
    }

    /// Creates the table of a kernel that is known by other means: its flags in the order of their bits, and the bit
    /// for "preempted".
    pub(crate) fn new(flags: Vec<(u64, u8)>, preempted: u64) -> Self {
        let mask = flags.iter().fold(0, |all, (bit, _)| all | bit);
        let mut states = Self { flags, preempted, mask, low: Vec::new() };
        states.low = (0..LOW).map(|state| states.of_bits(state)).collect();
        states
    }

    /// The states of kernels before 4.14, without a preempt bit: it was the highest bit, which differs by version.
    pub(crate) fn before_4_14() -> Self {
        let state_letters = *b"SDTtZXxKWP";
        let flags: Vec<_> =
            state_letters.iter().enumerate().map(|(bit, state_letter)| (1 << bit, *state_letter)).collect();
        Self::new(flags, 0)
    }

    /// Returns how a switch-out in this state leaves the thread, and the state letter.
    #[inline]
    pub(crate) fn meaning(&self, state: u64) -> (SwitchOut, u8) {
        self.low.get(state as usize).copied().unwrap_or_else(|| self.of_bits(state))
    }

    fn of_bits(&self, state: u64) -> (SwitchOut, u8) {
        if self.preempted != 0 && state & self.preempted != 0 {
            return (SwitchOut::Preempted, b'R');
        }
        if state & self.mask == 0 {
            return (SwitchOut::Runnable, b'R');
        }
        match state {
            3 => return (SwitchOut::Blocked, b'T'),
            5 => return (SwitchOut::Exited, b'X'),
            6 => return (SwitchOut::Exited, b'Z'),
            7 => return (SwitchOut::Blocked, b'P'),
            _ => {}
        }
        let mut state_letter = b'?';
        let mut out = SwitchOut::Blocked;
        for (bit, l) in &self.flags {
            if state & bit != 0 {
                if state_letter == b'?' {
                    state_letter = *l;
                }
                if matches!(l, b'X' | b'Z' | b'x') {
                    (out, state_letter) = (SwitchOut::Exited, *l);
                }
            }
        }
        (out, state_letter)
    }
}

/// Returns where the state numbers of a recording get their meaning, from the descriptions of its tracepoints.
pub(crate) fn state_source<'f>(mut formats: impl Iterator<Item = &'f EventFormat>) -> StateSource {
    match formats.find(|format| format.name == "sched_switch") {
        None => StateSource::Certain,
        Some(switch) if flag_table(&switch.print).is_empty() => StateSource::Assumed,
        Some(_) => StateSource::Table,
    }
}

/// Returns all `{ 0x0001, "S" }` pairs of the format, with which the kernel prints the flags.
fn flag_table(print: &str) -> Vec<(u64, u8)> {
    let mut flags = Vec::new();
    let mut rest = print;
    while let Some(open) = rest.find('{') {
        rest = &rest[open + 1..];
        let Some(close) = rest.find('}') else { break };
        if let Some((bits, name)) = rest[..close].split_once(',') {
            let state_letter = name.trim().trim_matches('"').bytes().next();
            if let (Some(bit), Some(state_letter)) = (evaluate(bits).filter(|b| *b != 0), state_letter) {
                flags.push((bit, state_letter));
            }
        }
        rest = &rest[close..];
    }
    flags
}

/// Evaluates a constant C expression of numbers, `|`, `+`, `-`, `<<` and parentheses; `None` for anything else.
fn evaluate(text: &str) -> Option<u64> {
    let mut tokens = Tokens(text.trim());
    let value = tokens.or(0)?;
    // Trailing parentheses belong to the surrounding expression.
    tokens.0.trim().trim_matches(')').trim().is_empty().then_some(value)
}

struct Tokens<'a>(&'a str);

impl Tokens<'_> {
    fn eat(&mut self, sign: &str) -> bool {
        let rest = self.0.trim_start();
        let found = rest.strip_prefix(sign);
        self.0 = found.unwrap_or(rest);
        found.is_some()
    }

    fn or(&mut self, depth: usize) -> Option<u64> {
        let mut value = self.shift(depth)?;
        while self.eat("|") {
            value |= self.shift(depth)?;
        }
        Some(value)
    }

    fn shift(&mut self, depth: usize) -> Option<u64> {
        let mut value = self.sum(depth)?;
        while self.eat("<<") {
            value = value.checked_shl(u32::try_from(self.sum(depth)?).ok()?)?;
        }
        Some(value)
    }

    fn sum(&mut self, depth: usize) -> Option<u64> {
        let mut value = self.number(depth)?;
        loop {
            if self.eat("+") {
                value = value.checked_add(self.number(depth)?)?;
            } else if self.eat("-") {
                value = value.checked_sub(self.number(depth)?)?;
            } else {
                return Some(value);
            }
        }
    }

    fn number(&mut self, depth: usize) -> Option<u64> {
        if depth > 32 {
            return None; // limits the nesting of a hostile format
        }
        if self.eat("(") {
            let value = self.or(depth + 1)?;
            return self.eat(")").then_some(value);
        }
        let text = self.0.trim_start();
        let end = text.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(text.len());
        let (digits, rest) = text.split_at(end);
        self.0 = rest;
        let digits = digits.trim_end_matches(['u', 'U', 'l', 'L']);
        match digits.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16).ok(),
            None => digits.parse().ok(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODERN: &str = r#""prev_comm=%s prev_pid=%d prev_prio=%d prev_state=%s%s ==> next_comm=%s next_pid=%d next_prio=%d", REC->prev_comm, REC->prev_pid, REC->prev_prio, (REC->prev_state & ((((0x00000000 | 0x00000001 | 0x00000002 | 0x00000004 | 0x00000008 | 0x00000010 | 0x00000020 | 0x00000040) + 1) << 1) - 1)) ? __print_flags(REC->prev_state & ((((0x00000000 | 0x00000001 | 0x00000002 | 0x00000004 | 0x00000008 | 0x00000010 | 0x00000020 | 0x00000040) + 1) << 1) - 1), "|", { 0x00000001, "S" }, { 0x00000002, "D" }, { 0x00000004, "T" }, { 0x00000008, "t" }, { 0x00000010, "X" }, { 0x00000020, "Z" }, { 0x00000040, "P" }, { 0x00000080, "I" }) : "R", REC->prev_state & (((0x00000000 | 0x00000001 | 0x00000002 | 0x00000004 | 0x00000008 | 0x00000010 | 0x00000020 | 0x00000040) + 1) << 1) ? "+" : "", REC->next_comm, REC->next_pid, REC->next_prio"#;
    const BEFORE_4_14: &str = r#""prev_comm=%s prev_pid=%d prev_prio=%d prev_state=%s%s ==> next_comm=%s next_pid=%d next_prio=%d", REC->prev_comm, REC->prev_pid, REC->prev_prio, REC->prev_state & (2048-1) ? __print_flags(REC->prev_state & (2048-1), "|", { 1, "S"} , { 2, "D" }, { 4, "T" }, { 8, "t" }, { 16, "Z" }, { 32, "X" }, { 64, "x" }, { 128, "K" }, { 256, "W" }, { 512, "P" }, { 1024, "N" }) : "R", REC->prev_state & 2048 ? "+" : "", REC->next_comm, REC->next_pid, REC->next_prio"#;

    #[test]
    fn linux_since_4_14() {
        let states = States::from_print(MODERN);
        for (number, meaning) in [
            (0, (SwitchOut::Runnable, b'R')),
            (256, (SwitchOut::Preempted, b'R')),
            (1, (SwitchOut::Blocked, b'S')),
            (2, (SwitchOut::Blocked, b'D')),
            (64, (SwitchOut::Blocked, b'P')),
            (128, (SwitchOut::Blocked, b'I')),
            (16, (SwitchOut::Exited, b'X')),
            (32, (SwitchOut::Exited, b'Z')),
            (3, (SwitchOut::Blocked, b'T')),
            (5, (SwitchOut::Exited, b'X')),
            (6, (SwitchOut::Exited, b'Z')),
            (7, (SwitchOut::Blocked, b'P')),
        ] {
            assert_eq!(states.meaning(number), meaning, "{number}");
        }
    }

    #[test]
    fn linux_before_4_14() {
        let states = States::from_print(BEFORE_4_14);
        for (number, meaning) in [
            (0, (SwitchOut::Runnable, b'R')),
            (2048, (SwitchOut::Preempted, b'R')),
            (64, (SwitchOut::Exited, b'x')),
            (256, (SwitchOut::Blocked, b'W')),
            (512, (SwitchOut::Blocked, b'P')),
            (258, (SwitchOut::Blocked, b'D')),
        ] {
            assert_eq!(states.meaning(number), meaning, "{number}");
        }
    }

    #[test]
    fn expressions() {
        assert_eq!(evaluate(" (((0x0 | 0x1 | 0x40) + 1) << 1)"), Some(0x84));
        assert_eq!(evaluate("2048-1"), Some(2047));
        assert_eq!(evaluate("REC->x"), None);
        assert_eq!(evaluate(&"(".repeat(1000)), None);
    }
}
