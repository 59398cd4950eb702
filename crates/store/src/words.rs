//! The one-byte codes that tables store for words, and the words of these codes.

use crate::values::NO_WORD;
use model::{Coded, Reason};

/// Returns the word of a code.
pub(crate) fn word<T: Coded>(code: u8) -> String {
    T::word_of_code(code).unwrap_or("?").to_owned()
}

/// Returns the code of a reason: its number, or [`NO_WORD`] for no reason. A kernel state letter is its own code.
#[inline]
pub(crate) fn reason_code(reason: Reason) -> u8 {
    match reason.number() {
        Ok(number) => number.checked_sub(1).unwrap_or(NO_WORD),
        // All state letters of the kernel are printable ASCII; a damaged file may have another byte.
        Err(letter) => {
            if (32..127).contains(&letter) {
                letter
            } else {
                b'?'
            }
        }
    }
}

fn reason_of(code: u8) -> Reason {
    Reason::NUMBERED.get(usize::from(code) + 1).copied().unwrap_or(Reason::State(code))
}

/// Corrects a reason of an older folder, which stored "yielded" for every thread that left its CPU runnable without a preemption mark.
pub(crate) fn without_false_yields(code: u8) -> u8 {
    if code == reason_code(Reason::Yielded) { reason_code(Reason::LeftRunnable) } else { code }
}

pub(crate) fn reason_word(code: u8) -> String {
    reason_of(code).word().unwrap_or_default()
}

pub(crate) fn reason(code: u8) -> Option<Reason> {
    Some(if code == NO_WORD { Reason::None } else { reason_of(code) })
}

/// Returns the code of a state letter, which is the letter itself; `?` if it is not ASCII.
#[inline]
pub(crate) fn state_letter_code(letter: u8) -> u8 {
    if letter.is_ascii() { letter } else { b'?' }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_round_trips() {
        for r in Reason::NUMBERED.into_iter().chain([Reason::State(b'S'), Reason::State(b'D')]) {
            assert_eq!(reason(reason_code(r)), Some(r));
        }
        assert_eq!(reason_code(Reason::None), NO_WORD);
    }
}
