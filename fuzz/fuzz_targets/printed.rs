//! Any text, as printed tables: each is refused with a sentence or checked, never a panic or a hang, and no value is none. The inputs
//! to begin with are crates/printed/cases, whose tables stand behind lines `table NAME`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use printed::{Asked, Pair, Sheet, check, is_printed, names, read};

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let _ = is_printed(&text);
    let parts = text.split("\ntable ").map(|part| part.split_once('\n').unwrap_or(("", part)));
    let mut sheets: Vec<Sheet> = parts.take(8).filter_map(|(name, text)| read(name, text).ok()).collect();
    sheets.extend(read("whole", &text));
    let asked = Asked { processor: Some("one-type".to_owned()), ..Asked::default() };
    // Every run and table beside every other, of the first few.
    let runs = names(&sheets, &asked).into_iter().take(4).collect::<Vec<_>>();
    let pair =
        |over: &String| runs.iter().map(|under| Pair { over: over.clone(), under: under.clone() }).collect::<Vec<_>>();
    let pairs: Vec<Pair> = runs.iter().flat_map(pair).collect();
    for asked in
        [Asked { compare: pairs.clone(), smt: pairs, ..asked }, Asked { span_s: Some(1.0), ..Asked::default() }]
    {
        for said in check(&sheets, &asked) {
            assert!(said.computed.is_none_or(f64::is_finite), "{said:?}");
        }
    }
});
