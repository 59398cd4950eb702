//! A server whose trace is still being prepared.

use crate::support::{ANYWHERE, Client, Trace};
use serve::{Options, Server};
use std::time::{Duration, Instant};

fn listening(options: &Options) -> (Client, serve::Preparation, std::thread::JoinHandle<()>) {
    let (server, preparation) = Server::listen(options).unwrap();
    let token = server.address().split_once("token=").unwrap().1.to_owned();
    let client = Client { at: server.at(), token };
    let running = std::thread::spawn(move || server.run().unwrap());
    (client, preparation, running)
}

fn progress(client: &Client) -> serde_json::Value {
    let answer = client.get("/api/progress");
    assert_eq!(answer.code, 200, "{}", answer.text());
    serde_json::from_slice(&answer.body).unwrap()
}

#[test]
fn requests_for_data_wait_and_the_progress_is_answered_meanwhile() {
    let (client, preparation, _) = listening(&ANYWHERE);
    assert_eq!(progress(&client)["ready"], false);
    preparation.show("Reading run.data: 12 events".to_owned(), None);
    let shown = progress(&client);
    assert_eq!((&shown["doing"], shown["share"].is_null()), (&"Reading run.data: 12 events".into(), true));
    preparation.show("Reading run.data: 25 %, 12 events".to_owned(), Some(0.25));
    assert_eq!(progress(&client)["share"], 0.25);
    assert!(shown["seconds"].as_f64().unwrap() >= 0.0);
    std::thread::scope(|scope| {
        let about = scope.spawn(|| client.get("/api/about"));
        std::thread::sleep(Duration::from_millis(300));
        assert!(!about.is_finished(), "there is no answer before the trace is ready");
        // Access is checked before.
        assert_eq!(client.ask("GET /api/about", &[&client.host()]).code, 401);
        assert_eq!(client.ask("GET /api/progress", &[&client.host()]).code, 401);
        preparation.ready(Trace::drawn("cpu0 A A B .").prepared(), None).unwrap();
        let about = about.join().unwrap();
        assert!(about.code == 200 && about.text().contains("span_ns"), "{}", about.text());
    });
    assert_eq!(progress(&client), serde_json::json!({"ready": true}));
}

/// A page asks for the progress all the time, so the server ends some time after the failure.
#[test]
fn a_failure_is_shown_and_ends_the_server() {
    let (client, preparation, running) = listening(&ANYWHERE);
    std::thread::scope(|scope| {
        let about = scope.spawn(|| client.get("/api/about"));
        let page = scope.spawn(|| {
            loop {
                let shown = progress(&client);
                if shown["ready"] != false || !shown["failed"].is_null() {
                    return shown;
                }
                std::thread::sleep(Duration::from_millis(5));
            }
        });
        std::thread::sleep(Duration::from_millis(300));
        preparation.failed("run.data: the file is damaged");
        assert_eq!(page.join().unwrap()["failed"], "run.data: the file is damaged");
        let about = about.join().unwrap();
        assert_eq!((about.code, about.text().as_str()), (500, "run.data: the file is damaged\n"));
    });
    running.join().unwrap();
    // A preparation that ends without a result ends the server too.
    let (_, preparation, running) = listening(&ANYWHERE);
    drop(preparation);
    running.join().unwrap();
}

#[test]
fn the_idle_time_begins_when_the_trace_is_ready() {
    let (_client, preparation, running) = listening(&Options { idle: Some(Duration::from_millis(400)), ..ANYWHERE });
    std::thread::sleep(Duration::from_millis(1200));
    assert!(!running.is_finished(), "a preparation may take longer than the idle time");
    preparation.ready(Trace::drawn("cpu0 A A B .").prepared(), None).unwrap();
    let began = Instant::now();
    running.join().unwrap();
    assert!(began.elapsed() < Duration::from_secs(60));
}
