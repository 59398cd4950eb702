//! Answers for the panels, compared with the engine and the rules, and invalid requests.

use crate::support::{Client, Trace, arrow, longs, texts};
use std::time::{Duration, Instant};

/// A runs for 2 ms and wakes B at 1 ms, which runs on CPU 1 from 2 ms to 4 ms and wakes C at 3 ms, which runs on CPU 0 from 4 ms on.
/// Output of perf ends with its last event: C's end at 5 ms.
const DRAWN: &str = "cpu0 A As . . C .\ncpu1 . . B Bs . .\nwaking . B@1 . C@1 . .";

/// The same trace as perf output, which records wakers: the first words of a line name the thread that ran.
const PRINTED: &str = "\
swapper 0 [000] 0.000000000: sched:sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=A next_pid=1 next_prio=120
A 1 [000] 0.001000000: sched:sched_waking: comm=B pid=2 prio=120 target_cpu=001
swapper 0 [001] 0.002000000: sched:sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=B next_pid=2 next_prio=120
A 1 [000] 0.002000000: sched:sched_switch: prev_comm=A prev_pid=1 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120
B 2 [001] 0.003000000: sched:sched_waking: comm=C pid=3 prio=120 target_cpu=001
swapper 0 [000] 0.004000000: sched:sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=C next_pid=3 next_prio=120
B 2 [001] 0.004000000: sched:sched_switch: prev_comm=B prev_pid=2 prev_prio=120 prev_state=S ==> next_comm=swapper/1 next_pid=0 next_prio=120
C 3 [000] 0.005000000: sched:sched_switch: prev_comm=C prev_pid=3 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120
";

fn key(client: &Client, name: &str) -> i64 {
    let threads = arrow(client, "/api/threads?first=0&last=9");
    let at = texts(&threads, "name").iter().position(|n| n.as_deref() == Some(name)).unwrap();
    longs(&threads, "thread")[at]
}

fn metadata(batch: &arrow_array::RecordBatch, name: &str) -> i64 {
    batch.schema().metadata()[name].parse().unwrap()
}

#[test]
fn a_table_of_a_part_has_the_first_rows_by_a_column_and_the_number_of_rows() {
    let trace = Trace::printed(PRINTED);
    let client = trace.served();
    // Up to 3 ms A ran 2 ms and B 1 ms; C was woken only then.
    let rows = arrow(&client, "/api/part/threads?from=0&to=3000000&most=2&by=running_ns&down=true");
    assert_eq!(texts(&rows, "name"), [Some("A".to_owned()), Some("B".to_owned())]);
    assert_eq!(longs(&rows, "running_ns"), [2_000_000, 1_000_000]);
    let mut all = Vec::new();
    let span = model::Span::new(model::Ns(0), model::Ns(3_000_000));
    let request = engine::TableRequest { span: Some(span), ..engine::TableRequest::whole("threads") };
    request
        .rows(&trace.session(), &mut |rows| {
            all.extend_from_slice(rows);
            Ok(())
        })
        .unwrap();
    assert_eq!(metadata(&rows, "rows"), all.len() as i64);
    let unit = |col: &str| rows.schema().field_with_name(col).unwrap().metadata().get("unit").cloned();
    assert_eq!((unit("running_ns").as_deref(), unit("name")), (Some("ns"), None));
    // Names follow keys, and the schema marks columns of thread keys.
    let path = arrow(&client, "/api/part/critical_path?from=0&to=5000000&most=100");
    let names: Vec<_> = texts(&path, "thread_name").into_iter().flatten().collect();
    assert_eq!(longs(&path, "start_ns").first(), Some(&0));
    assert_eq!((names.first().map(String::as_str), names.last().map(String::as_str)), (Some("A"), Some("C")));
    let schema = path.schema();
    assert_eq!(schema.field_with_name("thread").unwrap().metadata()["thread"], "key");
    let tables = client.get("/api/tables").text();
    assert!(tables.contains("\"critical_path\"") && !tables.contains("\"frames\""), "{tables}");
}

#[test]
fn a_chain_goes_from_a_woken_thread_to_its_waker() {
    let trace = Trace::printed(PRINTED);
    let client = trace.served();
    let [a, b, c] = ["A", "B", "C"].map(|name| key(&client, name));
    // C was woken by B at 3 ms and was ready for 1 ms; B by A at 1 ms, also ready for 1 ms; A ran when recording began.
    let chain = arrow(&client, &format!("/api/chain?thread={c}&at=4500000"));
    assert_eq!((longs(&chain, "thread"), longs(&chain, "waker")), (vec![c, b], vec![b, a]));
    assert_eq!(longs(&chain, "at_ns"), [3_000_000, 1_000_000]);
    assert_eq!(longs(&chain, "ready_ns"), [1_000_000, 1_000_000]);
    assert_eq!(arrow(&client, &format!("/api/chain?thread={a}&at=1500000")).num_rows(), 0);
    // The threads that B woke.
    let woken = arrow(&client, &format!("/api/table/thread_state?from=2000000&to=4000000&waker={b}"));
    assert_eq!((longs(&woken, "thread"), longs(&woken, "start_ns")), (vec![c], vec![3_000_000]));
}

#[test]
fn stretches_match_all_conditions_and_partial_answers_miss_none() {
    let trace = Trace::drawn(DRAWN);
    let client = trace.served();
    let [a, b, c] = ["A", "B", "C"].map(|name| key(&client, name));
    let hits = |query: &str| arrow(&client, &format!("/api/hits?to=5000000&{query}"));
    let ready = hits("from=0&most=9&state=ready");
    assert_eq!((longs(&ready, "thread"), longs(&ready, "start_ns")), (vec![b, c], vec![1_000_000, 3_000_000]));
    assert_eq!(metadata(&ready, "until_ns"), 5_000_000);
    assert_eq!(hits("from=0&most=9&state=ready&longer=999999").num_rows(), 2);
    assert_eq!(hits("from=0&most=9&state=ready&longer=1000000").num_rows(), 0, "longer means strictly longer");
    assert_eq!(longs(&hits("from=0&most=9&state=ready&name=c"), "thread"), [c]);
    assert_eq!(longs(&hits("from=0&most=9&state=ready&tid=2"), "thread"), [b]);
    // Both were queued on CPU 1; only C then ran on CPU 0, after A.
    assert_eq!(longs(&hits("from=0&most=9&state=ready&cpu=1"), "thread"), [b, c]);
    assert_eq!(longs(&hits("from=0&most=9&state=running&cpu=0"), "thread"), [a, c]);
    assert_eq!(hits("from=0&most=9&state=ready&type=uniform").num_rows(), 2);
    assert_eq!(hits("from=0&most=9&state=ready&type=efficient").num_rows(), 0);
    // One at a time, each from where the previous answer ended.
    let one = hits("from=0&most=1&state=ready");
    assert_eq!(longs(&one, "thread"), [b]);
    let next = hits(&format!("from={}&most=1&state=ready", metadata(&one, "until_ns")));
    assert_eq!(longs(&next, "thread"), [c]);
}

#[test]
fn the_diagnosis_is_computed_once_while_other_requests_are_answered() {
    let trace = Trace::drawn(DRAWN);
    let client = trace.served();
    let began = Instant::now();
    let answer = loop {
        let answer = client.get("/api/findings");
        if answer.code == 200 {
            break answer.text();
        }
        assert_eq!(answer.code, 202, "{}", answer.text());
        assert!(began.elapsed() < Duration::from_secs(60));
        assert_eq!(client.get("/api/about").code, 200);
        std::thread::sleep(Duration::from_millis(5));
    };
    let session = trace.session();
    let expected = diagnose::diagnose(&session, &diagnose::Options::default()).unwrap();
    let (answer, expected): (serde_json::Value, _) =
        (serde_json::from_str(&answer).unwrap(), serde_json::to_value(&expected).unwrap());
    for part in ["span", "findings", "checked", "not_checked"] {
        assert_eq!(answer[part], expected[part]);
    }
    assert_eq!(answer["rules"].as_array().unwrap().len(), diagnose::RULES.len());
    assert_eq!(client.get("/api/findings").code, 200);
}

#[test]
fn invalid_or_too_large_requests_are_refused_with_a_message() {
    let trace = Trace::drawn(DRAWN);
    let client = trace.served();
    let refused = [
        ("/api/part/threads?from=0&to=1000&most=0", "most"),
        ("/api/part/threads?from=0&to=1000&most=10001", "most"),
        ("/api/part/threads?from=0&to=1000&most=18446744073709551616", "most"),
        ("/api/part/threads?from=0&to=1000", "most"),
        ("/api/part/threads?from=9&to=9&most=1", "greater"),
        ("/api/part/threads?from=9223372036854775806&to=9223372036854775807&most=1", "outside the recording"),
        ("/api/part/threads?from=-9&to=-1&most=1", "outside the recording"),
        ("/api/part/threads?from=0&to=9&most=1&by=colour", "no column colour"),
        ("/api/part/threads?from=0&to=9&most=1&down=perhaps", "down"),
        ("/api/part/..%2fmanifest.json?from=0&to=9&most=1", "there is no table"),
        ("/api/hits?from=0&to=9&most=1&state=asleep", "unknown state asleep"),
        ("/api/hits?from=0&to=9&most=0", "most"),
        ("/api/hits?from=0&to=9&most=1&tid=x", "tid"),
        ("/api/hits?from=0&to=9&most=1&colour=red", "colour"),
        ("/api/chain?thread=1", "at"),
        ("/api/table/cpu_state?from=0&to=1&waker=1", "no column waker"),
    ];
    for (path, word) in refused {
        let answer = client.get(path);
        assert!(answer.code == 400 && answer.text().contains(word), "{path}: {} {}", answer.code, answer.text());
    }
    // The whole range of time and unknown threads are answered.
    let all = "from=-9223372036854775808&to=9223372036854775807&most=10000";
    assert_eq!(client.get(&format!("/api/part/critical_path?{all}")).code, 200);
    assert_eq!(arrow(&client, &format!("/api/hits?{all}&name=%00%ff")).num_rows(), 0);
    assert_eq!(client.get(&format!("/api/hits?{all}&core=-1&longer=-9223372036854775808")).code, 200);
    for at in [i64::MIN, -1, 0, i64::MAX] {
        let answer = arrow(&client, &format!("/api/chain?thread={}&at={at}", i64::MIN));
        assert_eq!(answer.num_rows(), 0);
    }
    let without = client.ask("GET /api/findings", &[&client.host()]);
    assert_eq!((without.code, without.text().contains("rule")), (401, false));
}

#[test]
fn many_requests_and_disconnects_do_not_block_other_clients() {
    let trace = Trace::drawn(DRAWN);
    let client = trace.served();
    let answers = std::sync::Mutex::new([0_u32; 2]);
    std::thread::scope(|scope| {
        for worker in 0..30 {
            let (client, answers) = (&client, &answers);
            scope.spawn(move || {
                for n in 0..10 {
                    let path = format!("/api/part/threads?from={worker}&to={}&most=100&by=running_ns", 4_000_000 + n);
                    if n % 3 == 0 {
                        // Disconnects immediately.
                        let mut stream = std::net::TcpStream::connect(client.at).unwrap();
                        let head = format!("GET {path} HTTP/1.1\r\n{}\r\n{}\r\n\r\n", client.host(), client.cookie());
                        std::io::Write::write_all(&mut stream, head.as_bytes()).unwrap();
                        continue;
                    }
                    let answer = client.get(&path);
                    let text = answer.text();
                    assert!(answer.code == 200 || (answer.code == 503 && text.contains("try again")), "{text}");
                    answers.lock().unwrap()[usize::from(answer.code == 503)] += 1;
                }
            });
        }
        // Short lookups are answered meanwhile.
        for _ in 0..20 {
            assert_eq!(client.get("/api/table/thread_state?from=0&to=1").code, 200);
        }
    });
    let answers = answers.lock().unwrap();
    assert_eq!(answers[0] + answers[1], 30 * 6, "each request that was not ended by its client has an answer");
    // Queries whose clients have gone may still wait.
    let began = Instant::now();
    loop {
        match client.get("/api/part/threads?from=0&to=1000&most=1").code {
            200 => break,
            code => assert!(code == 503 && began.elapsed() < Duration::from_secs(60), "{code}"),
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}
