//! Measures what an answer costs: a large drawn machine in each format, in ms and bytes.
//! `cargo run --release -p corewise-exporter --example cost`.
#![allow(clippy::print_stdout, clippy::unwrap_used)]

use exporter::{Options, Server, Source};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use watch::Snapshot;
use watch::testing::drawn;

/// A reading that costs nothing, so that only answers are measured.
struct Ready(Snapshot);

impl Source for Ready {
    fn read(&mut self) -> Result<Snapshot, String> {
        Ok(self.0.clone())
    }
}

/// The drawn snapshot with more CPUs, and with groups whose histograms are full.
fn large(cpus: u32, groups: usize) -> Snapshot {
    let mut snapshot = drawn(1);
    let cpu = snapshot.cpus[0].clone();
    snapshot.cpus = (0..cpus).map(|number| watch::snapshot::CpuSums { cpu: number, ..cpu.clone() }).collect();
    let mut group = snapshot.groups[0].clone();
    for class in &mut group.by_class {
        class.running_ns = 1_000_000_007;
        class.wakeups = 17;
        class.ready_latency.counts = std::array::from_fn(|bucket| 1_000_003 * bucket as u64);
        class.run_length = class.ready_latency.clone();
    }
    let name = |number: usize| format!("/system.slice/docker-{number:064x}.scope");
    snapshot.groups =
        (0..groups).map(|number| watch::snapshot::GroupSums { name: name(number), ..group.clone() }).collect();
    snapshot
}

fn main() {
    println!("CPUs  groups  format      ms (of 20: median, max)    bytes  series");
    for (cpus, groups) in [(2, 20), (16, 50), (256, 50), (256, 1000)] {
        let server =
            Server::listen(Options { listen: "127.0.0.1:0".parse().unwrap(), token: None, top: groups }).unwrap();
        let (at, stop) = (server.at(), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| server.run(&mut Ready(large(cpus, groups)), &|| stop.load(Ordering::Relaxed)).unwrap());
            for (format, accept) in [
                ("text", "text/plain"),
                ("OpenMetrics", "application/openmetrics-text"),
                (
                    "protobuf",
                    "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited",
                ),
            ] {
                let mut took: Vec<f64> = Vec::new();
                let mut answer = Vec::new();
                for _ in 0..20 {
                    // Older than a reading that answers again.
                    std::thread::sleep(exporter::FRESH + Duration::from_millis(20));
                    let before = Instant::now();
                    answer = get(at, accept);
                    took.push(before.elapsed().as_secs_f64() * 1e3);
                }
                took.sort_by(f64::total_cmp);
                let lines = answer.split(|b| *b == b'\n').filter(|line| line.starts_with(b"corewise_")).count();
                let series = if format == "protobuf" { "-".to_owned() } else { lines.to_string() };
                println!(
                    "{cpus:4}  {groups:6}  {format:11} {:6.2} {:6.2} {:22} {series:>7}",
                    took[10],
                    took[19],
                    answer.len()
                );
            }
            stop.store(true, Ordering::Relaxed);
        });
    }
}

fn get(at: SocketAddr, accept: &str) -> Vec<u8> {
    let mut stream = TcpStream::connect(at).unwrap();
    write!(stream, "GET /metrics HTTP/1.1\r\nHost: {at}\r\nAccept: {accept}\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    answer
}
