//! Any table is rejected with an error or checked: without panics or non-finite numbers.

use printed::{Pair, Request, check, is_printed, read};
use proptest::prelude::*;

/// Tables of all kinds, from the cases.
fn heads() -> Vec<String> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/cases");
    let cases = std::fs::read_dir(folder).unwrap().map(|f| std::fs::read_to_string(f.unwrap().path()).unwrap());
    let tables = |case: String| case.split("\ntable ").skip(1).map(str::to_owned).collect::<Vec<_>>();
    cases.flat_map(tables).filter_map(|table| Some(table.split_once('\n')?.1.split("```").next()?.to_owned())).collect()
}

fn cell() -> impl Strategy<Value = String> {
    prop_oneof![
        "[0-9]{1,3}(\\.[0-9]{0,4})?",
        Just("0".to_owned()),
        Just("-1".to_owned()),
        Just("1e308".to_owned()),
        Just("-1e-308".to_owned()),
        Just("1e-400".to_owned()),
        Just("NaN".to_owned()),
        Just("\"".to_owned()),
        "\\PC{0,6}",
        Just(String::new()),
        prop_oneof!["thread", "thread_cpu", "pair", "total", "cpu", "time", "same_core", "alone"].prop_map(|w| w),
    ]
}

fn request() -> Request {
    let pair = Pair { over: "a".into(), under: "b".into() };
    Request {
        compare: vec![pair.clone()],
        smt: vec![pair],
        span_s: Some(1.0),
        processor: Some("1".into()),
        ..Request::default()
    }
}

proptest! {
    #[test]
    fn cells_of_any_kind(which in 0_usize..1000, rows in prop::collection::vec(prop::collection::vec(cell(), 0..12), 0..12)) {
        let tables = heads();
        let table = &tables[which % tables.len()];
        let first = table.lines().next().unwrap();
        let body: String = rows.iter().map(|row| row.join(",") + "\n").collect();
        for text in [format!("{first}\n{body}"), format!("{table}{body}")] {
            if let (Ok(a), Ok(b)) = (read("a", &text), read("b", &text)) {
                for run in a.kind.measured(&a).into_iter().flatten() {
                    let values = run.values.values().chain(run.rows.values().flat_map(|row| row.values()));
                    prop_assert!(values.copied().all(f64::is_finite), "{run:?}");
                }
                for statement in check(&[a, b], &request()) {
                    prop_assert!(statement.computed.is_none_or(f64::is_finite), "{statement:?}");
                }
            }
        }
    }

    #[test]
    fn any_text(text in "\\PC{0,200}", lines in prop::collection::vec("[ 0-9.,:;#()%<>a-z/\t-]{0,40}", 0..8)) {
        for text in [text, lines.join("\n"), format!(" Performance counter stats for 'x':\n{}", lines.join("\n"))] {
            let _ = is_printed(&text);
            if let Ok(sheet) = read("a", &text) {
                let _ = sheet.kind.measured(&sheet);
                let _ = check(&[sheet], &request());
            }
        }
    }
}

#[test]
fn too_long_tables_are_rejected() {
    let rows = |head: &str, row: &str, many: usize| format!("{head}\n{}", row.repeat(many));
    let long = read("a", &rows("tid,cpu_ms,ready_ms,wait_ms", "1,1,1,1\n", 100_001)).err().unwrap();
    assert!(long.to_string().contains("100000 rows"), "{long}");
    let long = read("a", &rows("1,,cycles,1,1,,", "1,,cycles,1,1,,\n", 1 << 20)).err().unwrap();
    assert!(long.to_string().contains("8 MiB"), "{long}");
    assert!(read("a", "").is_err() && read("a", "a,b\n1,2\n").is_err());
}

/// No recording that an importer reads is recognised as a printed table.
#[test]
fn recordings_are_not_tables() {
    let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/../import/fixtures");
    let (mut folders, mut files) = (vec![std::path::PathBuf::from(fixtures)], 0);
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).unwrap().map(|f| f.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else {
                let head: Vec<u8> = std::fs::read(&path).unwrap().into_iter().take(1 << 13).collect();
                assert!(!is_printed(&String::from_utf8_lossy(&head)), "{}", path.display());
                files += 1;
            }
        }
    }
    assert!(files > 20, "{files}");
}
