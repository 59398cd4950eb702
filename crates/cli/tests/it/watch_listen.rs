//! The command `corewise watch --listen`.

use crate::support::{Folder, corewise, good, run};
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

#[test]
fn what_cannot_be_served_is_one_sentence() {
    let folder = Folder::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let (readable, short) = (folder.name("readable"), folder.name("short"));
    std::fs::write(&readable, "0123456789abcdef\n").unwrap();
    std::fs::set_permissions(&readable, std::fs::Permissions::from_mode(0o644)).unwrap();
    std::fs::write(&short, "abc\n").unwrap();
    std::fs::set_permissions(&short, std::fs::Permissions::from_mode(0o600)).unwrap();
    for (words, code, expected) in [
        (&["--listen", &taken] as &[&str], 1, "choose another port"),
        (&["--listen", "0.0.0.0:0"], 1, "--token-file"),
        (&["--listen", "192.0.2.1:0", "--token-file", &readable], 1, "chmod 600"),
        (&["--listen", "0.0.0.0:0", "--token-file", &short], 1, "openssl rand"),
        (&["--listen", "0.0.0.0:0", "--token-file", "/no/token"], 1, "/no/token: "),
        (&["--token-file", &short], 2, "--listen"),
        (&["--unit", "--listen", "0.0.0.0:9464"], 1, "--token-file"),
        (&["--listen", "nowhere"], 2, "127.0.0.1:9464"),
        (&["--listen", "127.0.0.1:0", "--for", "1s"], 2, "cannot be used with"),
    ] {
        let ran = run([&["watch"], words].concat());
        assert!(ran.code == Some(code) && ran.out.is_empty() && ran.err.contains(expected), "{words:?}: {}", ran.err);
        assert!(code == 2 || ran.err.lines().count() == 1, "{words:?}: {}", ran.err);
    }
}

#[test]
fn the_unit_has_the_options_that_were_given() {
    let unit = good(["watch", "--unit"]);
    assert!(unit.contains(" watch --listen 127.0.0.1:9464\n") && unit.contains("IPAddressDeny=any"), "{unit}");
    let words =
        ["watch", "--unit", "--listen", "[::]:80", "--token-file", "/etc/t", "--process", "my db", "--top", "5"];
    let unit = good(words);
    assert!(unit.contains(" watch --listen [::]:80 --top 5 --process \"my db\" --token-file %d/token\n"), "{unit}");
    assert!(unit.contains("LoadCredential=token:/etc/t\n") && !unit.contains("IPAddressDeny"), "{unit}");
}

/// A server; ended when dropped.
struct Watching {
    process: Child,
    at: String,
}

impl Watching {
    fn start(words: &[&str]) -> Self {
        let mut command = corewise([&["watch", "--listen", "127.0.0.1:0"], words].concat());
        let mut process = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let at = line.trim().trim_start_matches("http://").trim_end_matches('/').to_owned();
        assert!(at.starts_with("127.0.0.1:"), "{line:?}");
        Self { process, at }
    }

    /// The samples of classic text.
    fn scrape(&self) -> HashMap<String, f64> {
        let mut stream = TcpStream::connect(&self.at).unwrap();
        write!(stream, "GET /metrics HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", self.at).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
        let samples = answer.lines().filter(|line| line.starts_with("corewise_"));
        samples.map(|line| line.rsplit_once(' ').unwrap()).map(|(n, v)| (n.to_owned(), v.parse().unwrap())).collect()
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The sum of a metric over its series.
fn sum(samples: &HashMap<String, f64>, name: &str) -> f64 {
    samples.iter().filter(|(series, _)| series.split('{').next() == Some(name)).map(|(_, value)| value).sum()
}

#[test]
#[ignore = "needs BPF rights"]
fn scrapes_add_up_never_fall_and_end_with_a_signal() {
    let mut server = Watching::start(&["--by", "process"]);
    // A process that is busy on one CPU, and short ones.
    let mut load = Command::new("sh").args(["-c", "while :; do /bin/true; done"]).spawn().unwrap();
    let mut before = server.scrape();
    for _ in 0..5 {
        std::thread::sleep(Duration::from_millis(400));
        let now = server.scrape();
        for (series, value) in &before {
            let is_sum = ["_total{", "_bucket{", "_count{", "_sum{"].iter().any(|of| series.contains(of));
            if is_sum || series.ends_with("_total") {
                // A group that has ended may have lost its series.
                let is_group = series.starts_with("corewise_group_");
                let after = now.get(series);
                assert!(after.map_or(is_group, |after| after >= value), "{series}: {value}, then {after:?}");
            }
        }
        before = now;
    }
    load.kill().unwrap();
    load.wait().unwrap();
    let now = before;
    let of = |name: &str| sum(&now, name);
    let cpus = now.keys().filter(|series| series.starts_with("corewise_cpu_info{")).count() as f64;
    let all = of("corewise_cpu_busy_seconds_total")
        + of("corewise_cpu_idle_seconds_total")
        + of("corewise_cpu_unknown_seconds_total");
    let wall = of("corewise_watch_elapsed_seconds_total") * cpus;
    // The machine goes on while the sums are read: first those of the CPUs, then those of the groups.
    let meanwhile = of("corewise_watch_reading_seconds") * cpus;
    let rounding = 1e-6 * wall;
    assert!((all - wall).abs() <= meanwhile + rounding, "the CPUs' time is {all} s of {wall} s");
    let (busy, running) = (of("corewise_cpu_busy_seconds_total"), of("corewise_running_seconds_total"));
    let more = running - busy;
    assert!((-rounding..=meanwhile + rounding).contains(&more), "busy {busy} s, threads ran {running} s");
    // Where the machine hides a switch, what ran is unknown.
    let unknown = of("corewise_cpu_unknown_seconds_total");
    assert!(busy + unknown > 1.0, "busy {busy} s, unknown {unknown} s: one process is always busy, for 2 s");
    let groups = of("corewise_group_running_seconds_total");
    assert!((groups - running).abs() < 1e-6 * running, "groups {groups} s, all threads {running} s");
    assert_eq!(of("corewise_watch_identity_violations_total"), 0.0);
    assert!(of("corewise_watch_identity_holds") >= 1.0);
    // SAFETY: sends a signal to the child, which was not waited for yet.
    unsafe { libc::kill(server.process.id() as i32, libc::SIGTERM) };
    assert!(server.process.wait().unwrap().success());
}

#[test]
#[ignore = "needs BPF rights"]
fn it_keeps_only_the_capabilities_that_it_needs() {
    let server = Watching::start(&[]);
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.process.id())).unwrap();
    let bits = status.lines().find_map(|line| line.strip_prefix("CapEff:")).unwrap();
    // CAP_PERFMON is 38, CAP_BPF 39.
    let others = u64::from_str_radix(bits.trim(), 16).unwrap() & !(1 << 38 | 1 << 39);
    assert_eq!(others, 0, "{status}");
    assert!(status.contains("NoNewPrivs:\t1"), "{status}");
    assert!(!server.scrape().is_empty(), "it still reads");
}
