//! Two traces, one server.

use crate::support::{Client, Trace, arrow, longs};
use model::ThreadKey;
use serve::{ChangeMetric, Changes, RoleChange, ValueChange};

#[test]
fn each_trace_has_its_own_answers() {
    // CPU 0 runs A for 2 ms in the first; in the second B takes over after 1 ms.
    let (first, second) = (Trace::drawn("cpu0 A A .\ncpu1 . B ."), Trace::drawn("cpu0 A B B .\ncpu1 . . C ."));
    let (client, _to) = first.served_with(&second);
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

fn json(client: &Client, path: &str) -> serde_json::Value {
    let answer = client.get(path);
    assert_eq!((answer.code, answer.header("content-type")), (200, Some("application/json")), "{}", answer.text());
    serde_json::from_slice(&answer.body).unwrap()
}

#[test]
fn what_changed_is_answered_once_it_is_known() {
    let trace = Trace::drawn("cpu0 A A .");
    let (client, to) = trace.served_with(&trace);
    let pending = client.get("/api/changes");
    assert_eq!((pending.code, pending.text().contains("being compared")), (202, true));
    to.send(Ok(Changes {
        answer: "B is 2.0 × slower".to_owned(),
        notes: Vec::new(),
        span_ns: [3, 4],
        metrics: vec![ChangeMetric { id: "ready_ns".to_owned(), title: "ready time".to_owned(), is_time: true }],
        roles: vec![RoleChange {
            name: "game/Worker".to_owned(),
            matched_by: Some("name"),
            confidence: "high",
            is_own: true,
            threads: [vec![ThreadKey(1)], vec![ThreadKey(1), ThreadKey(2)]],
            values: vec![ValueChange { values: [Some(1.5), None], is_small: false, verdict: None }],
        }],
    }));
    let expected = serde_json::json!({
        "answer": "B is 2.0 × slower", "notes": [], "span_ns": [3, 4],
        "metrics": [{"id": "ready_ns", "title": "ready time", "is_time": true}],
        "roles": [{
            "name": "game/Worker", "matched_by": "name", "confidence": "high", "is_own": true, "threads": [[1], [1, 2]],
            "values": [{"values": [1.5, null], "is_small": false, "verdict": null}],
        }],
    });
    assert_eq!(json(&client, "/api/changes"), expected);
    // The same access control as for all else; a single trace has no changes.
    assert_eq!(client.ask("GET /api/changes", &[&client.host()]).code, 401);
    assert_eq!(client.ask("GET /api/changes", &["Host: evil.example", &client.cookie()]).code, 403);
    assert_eq!(trace.served().get("/api/changes").code, 404);
}

#[test]
fn a_comparison_that_failed_is_a_message() {
    let trace = Trace::drawn("cpu0 A A .");
    let (client, to) = trace.served_with(&trace);
    to.send(Err("the recordings have no threads".to_owned()));
    assert_eq!(json(&client, "/api/changes"), serde_json::json!({"message": "the recordings have no threads"}));
    // A sender that ends without an answer, such as by a panic.
    let (client, to) = trace.served_with(&trace);
    drop(to);
    assert_eq!(json(&client, "/api/changes"), serde_json::json!({"message": "the comparison ended unexpectedly"}));
}
