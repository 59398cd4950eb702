//! Debian's Prometheus: its promtool accepts the rules, and a real server scrapes, evaluates every rule and answers queries.

use crate::support::Running;
use serde_json::Value as Json;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/watch").canonicalize().unwrap()
}

/// How many rules and alerts docs/watch has.
const RULES: usize = 23;

#[test]
#[ignore = "needs promtool"]
fn promtool_accepts_the_rules_and_their_tests_pass() {
    for arguments in [
        &["check", "rules", "corewise.rules.yml", "corewise.alerts.yml"] as &[&str],
        &["test", "rules", "corewise.test.yml"],
        &["check", "config", "prometheus.yml"],
    ] {
        let output = Command::new("promtool").args(arguments).current_dir(folder()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && !said.contains("FAILED"), "{arguments:?}: {said}");
    }
}

#[test]
fn each_alert_has_a_case_in_which_it_fires_and_one_in_which_it_is_silent() {
    let read = |name: &str| std::fs::read_to_string(folder().join(name)).unwrap();
    let (alerts, tests) = (read("corewise.alerts.yml"), read("corewise.test.yml"));
    let names: Vec<&str> = alerts.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")).collect();
    assert_eq!(names.len(), 8);
    for name in names {
        assert!(tests.matches(name).count() >= 1, "{name} has no test");
    }
}

#[test]
fn rules_use_metrics_that_exist() {
    let names: Vec<String> = exporter::DEFINITIONS.iter().copied().flatten().map(|of| of.full_name()).collect();
    for file in ["corewise.rules.yml", "corewise.alerts.yml"] {
        let text = std::fs::read_to_string(folder().join(file)).unwrap();
        let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == ':'));
        for word in words.filter(|word| word.starts_with("corewise_")) {
            let word = word.strip_suffix("_bucket").unwrap_or(word);
            assert!(names.iter().any(|name| name == word), "{file}: {word}");
        }
    }
}

/// A Prometheus with a temporary store; ended when dropped.
struct Prometheus {
    process: Child,
    at: SocketAddr,
    _store: tempfile::TempDir,
}

impl Prometheus {
    fn start(target: SocketAddr, features: &[&str]) -> Self {
        let store = tempfile::tempdir().unwrap();
        let config = store.path().join("prometheus.yml");
        let rules = folder();
        let text = format!(
            "global:\n  scrape_interval: 1s\n  evaluation_interval: 1s\nrule_files:\n  - {0}/corewise.rules.yml\n  - {0}/corewise.alerts.yml\n\
             scrape_configs:\n  - job_name: corewise\n    static_configs:\n      - targets: [\"{target}\"]\n",
            rules.display()
        );
        std::fs::write(&config, text).unwrap();
        let mut process = Command::new("prometheus")
            .arg(format!("--config.file={}", config.display()))
            .arg(format!("--storage.tsdb.path={}", store.path().join("data").display()))
            .arg("--web.listen-address=127.0.0.1:0")
            .args(features)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stderr.take().unwrap()).lines().map_while(Result::ok);
        // Its log has the port that it got.
        let listening = lines.find(|line| line.contains("Listening on")).expect("Prometheus listens");
        let at = listening.split("address=").nth(1).and_then(|at| at.split(' ').next()).expect("an address");
        let at = at.trim_matches('"').parse().expect("an address");
        // Its log must not fill the pipe.
        std::thread::spawn(move || lines.for_each(drop));
        let this = Self { process, at, _store: store };
        // The log may say that it is ready before it says where it listens.
        let until = Instant::now() + Duration::from_secs(120);
        while !this.answer("/-/ready").split_once("\r\n").is_some_and(|(status, _)| status.contains(" 200 ")) {
            assert!(Instant::now() < until, "Prometheus did not start");
            std::thread::sleep(Duration::from_millis(50));
        }
        this
    }

    fn answer(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(self.at).unwrap();
        write!(stream, "GET {path} HTTP/1.0\r\nHost: {}\r\n\r\n", self.at).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    fn get(&self, path: &str) -> Json {
        let answer = self.answer(path);
        let answer: Json = serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap();
        assert_eq!(answer["status"], "success", "{path}: {answer}");
        answer["data"].clone()
    }

    /// The series and values that a query returns.
    fn query(&self, query: &str) -> Vec<(Json, f64)> {
        let encoded: String = query.bytes().map(|b| format!("%{b:02x}")).collect();
        let answer = self.get(&format!("/api/v1/query?query={encoded}"));
        let one = |of: &Json| (of["metric"].clone(), of["value"][1].as_str().unwrap().parse().unwrap());
        answer["result"].as_array().unwrap().iter().map(one).collect()
    }

    /// Waits until a query returns something.
    fn wait_for(&self, query: &str) -> Vec<(Json, f64)> {
        let until = Instant::now() + Duration::from_secs(120);
        loop {
            let found = self.query(query);
            if !found.is_empty() {
                return found;
            }
            assert!(Instant::now() < until, "nothing for {query}; targets: {}", self.get("/api/v1/targets"));
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    /// Waits until every rule was evaluated; none may have failed. Returns their number.
    fn rules(&self) -> usize {
        let until = Instant::now() + Duration::from_secs(120);
        loop {
            let groups = self.get("/api/v1/rules");
            let rules: Vec<&Json> =
                groups["groups"].as_array().unwrap().iter().flat_map(|g| g["rules"].as_array().unwrap()).collect();
            assert!(rules.iter().all(|rule| rule["health"] != "err"), "{groups}");
            if rules.iter().all(|rule| rule["health"] == "ok") {
                return rules.len();
            }
            assert!(Instant::now() < until, "{groups}");
            std::thread::sleep(Duration::from_millis(200));
        }
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
#[ignore = "needs prometheus"]
fn prometheus_scrapes_evaluates_every_rule_and_answers_queries() {
    let server = Running::start("127.0.0.1:0", None, |_| {});
    let prometheus = Prometheus::start(server.at, &[]);
    prometheus.wait_for("up{job=\"corewise\"} == 1");
    assert_eq!(prometheus.rules(), RULES);
    // The drawn machine: half of the time of its four cores is busy with one thread or two. The sums of the drawn clock run 100 times
    // as fast, which shares do not show.
    let value = |query: &str| {
        let found = prometheus.wait_for(query);
        assert_eq!(found.len(), 1, "{found:?}");
        found[0].1
    };
    // One scrape is enough for sums, rates need more.
    let free = value("instance:corewise_core_free:ratio_rate5m > 0");
    assert!((free - 0.575).abs() < 0.01, "core 0 is full, core 1 half, CPU 4 a fifth, CPU 5 free: {free}");
    let busy = value("instance:corewise_cpu_busy:ratio_rate5m > 0");
    assert!((busy - 0.45).abs() < 0.01, "2.7 of 6 CPUs: {busy}");
    let p99 = value("instance:corewise_ready_latency_seconds:p99_rate5m");
    assert_eq!(p99, 16.0, "above the highest bound");
    let named = prometheus.wait_for("corewise_group_running_seconds_total{group=\"/app.slice/game\",sibling=\"busy\"}");
    assert_eq!((named.len(), &named[0].0["core_type"]), (1, &Json::from("performance")));
    let types = prometheus.get("/api/v1/metadata");
    assert_eq!(types["corewise_ready_latency_seconds"][0]["type"], "histogram", "{types}");
    // Nothing that was exported falls.
    for of in exporter::DEFINITIONS.iter().copied().flatten() {
        let name = of.full_name();
        if name.ends_with("_total") {
            assert_eq!(prometheus.query(&format!("resets({name}[1m]) > 0")), [], "{name}");
        }
    }
    // No alert fires after a few seconds, and those for lost data are not even pending.
    let alerts = prometheus.query("ALERTS{alertstate=\"firing\"}");
    assert!(alerts.is_empty(), "{alerts:?}");
}

#[test]
#[ignore = "needs prometheus"]
fn prometheus_reads_native_histograms_by_protobuf() {
    let server = Running::start("127.0.0.1:0", None, |_| {});
    let prometheus = Prometheus::start(server.at, &["--enable-feature=native-histograms"]);
    let count = prometheus.wait_for("histogram_count(corewise_ready_latency_seconds{core_type=\"performance\"}) > 0");
    // Five waits for each factor of the drawn snapshot.
    assert_eq!((count.len(), count[0].1 % 5.0), (1, 0.0), "{count:?}");
    assert_eq!(prometheus.rules(), RULES);
    // Drawn waits: 0.8, 20, 21 µs, 3 ms, 40 s. Three of five end below 2^-15 s (30.5 µs): exact, since it is a bound.
    let share = prometheus.wait_for("histogram_fraction(0, 0.000030517578125, corewise_ready_latency_seconds)");
    assert!(share.iter().all(|(_, share)| (share - 0.6).abs() < 1e-9), "{share:?}");
    let p99 = prometheus.wait_for("instance:corewise_ready_latency_seconds:p99_rate5m > 0");
    assert!(p99[0].1 > 16.0 && p99[0].1 <= 32.0, "{p99:?}");
}

#[test]
#[ignore = "needs prometheus"]
fn alerts_for_lost_data_fire_in_prometheus() {
    // Each reading misses events and breaks an identity.
    let server = Running::start("127.0.0.1:0", None, |snapshot| {
        snapshot.health.missed_events = snapshot.at_ns / 1_000_000;
        snapshot.identities[0].holds = false;
    });
    let prometheus = Prometheus::start(server.at, &[]);
    for name in ["CorewiseCaptureLost", "CorewiseIdentityViolated"] {
        prometheus.wait_for(&format!("ALERTS{{alertname=\"{name}\",alertstate=\"firing\"}}"));
    }
}
