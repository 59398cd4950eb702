//! Two traces, one server.
#![allow(clippy::unwrap_used)]

mod support;

use support::{Trace, arrow, longs};

#[test]
fn each_trace_has_its_own_answers() {
    // CPU 0 runs A for 2 ms in the first; in the second B takes over after 1 ms.
    let (first, second) = (Trace::drawn("cpu0 A A .\ncpu1 . B ."), Trace::drawn("cpu0 A B B .\ncpu1 . . C ."));
    let client = first.served_with(&second);
    let ends = |path: &str| longs(&arrow(&client, path), "end_ns")[0];
    assert_eq!(ends("/api/table/cpu_state?from=0&to=1&cpu=0"), 2_000_000);
    assert_eq!(ends("/second/api/table/cpu_state?from=0&to=1&cpu=0"), 1_000_000);
    let about = |path: &str| -> serde_json::Value { serde_json::from_slice(&client.get(path).body).unwrap() };
    let [one, other] = ["/api/about", "/second/api/about"].map(about);
    assert!(one["two"] == true && other["two"] == true && one["threads"] != other["threads"]);
    // The second trace has the same access control.
    let without = client.ask("GET /second/api/about", &[&client.host()]);
    assert_eq!((without.code, without.text().contains("span_ns")), (401, false));
    assert_eq!(client.get("/second/..%2fmanifest.json").code, 404);
    let alone = first.served();
    assert_eq!(alone.get("/second/api/about").code, 404);
    assert!(alone.get("/api/about").text().contains("\"two\":false"));
}
