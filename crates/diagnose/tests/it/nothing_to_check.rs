//! Recordings of which no rule can be checked.

use crate::support;
use diagnose::{Options, RULES, diagnose};
use model::{Ns, Span};

const SAMPLES: &str = "cpu0 P0  . . .\nsample   A=spin B=spin A=spin";
const SWITCHES: &str = "cpu0 P0  A B A B A B\nwaking   B A B A B .";

#[test]
fn samples_alone_and_less_than_a_millisecond_are_not_diagnosed() {
    let part = |part| Options { part, ..Options::default() };
    let short = Some(Span::new(Ns(500_000), Ns(650_000)));
    for (drawing, options, why) in [
        (SAMPLES, part(None), "this recording has samples and no context switches"),
        (SWITCHES, part(short), "150.0\u{a0}us is too short to diagnose: at least 1.000\u{a0}ms are needed"),
    ] {
        let found = diagnose(&support::drawn(drawing, |_, _| ()), &options).expect("a diagnosis");
        assert!(found.findings.is_empty() && found.checked.is_empty() && found.not_checked.len() == RULES.len());
        assert!(found.why_nothing().is_some_and(|of_all| of_all.starts_with(why)), "{:?}", found.why_nothing());
    }
    let enough = part(Some(Span::new(Ns(500_000), Ns(1_500_000))));
    assert!(!diagnose(&support::drawn(SWITCHES, |_, _| ()), &enough).expect("a diagnosis").checked.is_empty());
}
