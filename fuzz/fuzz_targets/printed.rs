//! Any text as printed tables: each is rejected with an error or checked, without panics, hangs or non-finite values. The seed inputs
//! are crates/printed/cases, in which each table follows a line `table NAME`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use printed::{Pair, Request, Sheet, check, is_printed, names, read};

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let _ = is_printed(&text);
    let parts = text.split("\ntable ").map(|part| part.split_once('\n').unwrap_or(("", part)));
    let mut sheets: Vec<Sheet> = parts.take(8).filter_map(|(name, text)| read(name, text).ok()).collect();
    sheets.extend(read("whole", &text));
    let request = Request { processor: Some("one-type".to_owned()), ..Request::default() };
    // Compares each of the first few runs and tables with each other.
    let runs = names(&sheets, &request).into_iter().take(3).collect::<Vec<_>>();
    let pair =
        |over: &String| runs.iter().map(|under| Pair { over: over.clone(), under: under.clone() }).collect::<Vec<_>>();
    let pairs: Vec<Pair> = runs.iter().flat_map(pair).collect();
    for request in
        [Request { compare: pairs.clone(), smt: pairs, ..request }, Request { span_s: Some(1.0), ..Request::default() }]
    {
        for statement in check(&sheets, &request) {
            assert!(statement.computed.is_none_or(f64::is_finite), "{statement:?}");
        }
    }
});
