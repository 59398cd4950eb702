//! Serves a drawn machine of two types of cores whose sums grow with time, to look at the page and the metrics:
//! `cargo run -p corewise-exporter --example drawn 127.0.0.1:9464`.
#![allow(clippy::print_stderr)]

use exporter::{Options, Server, Source};
use std::time::Instant;
use watch::Snapshot;
use watch::testing::drawn;

struct Growing(Instant);

impl Source for Growing {
    fn read(&mut self) -> Result<Snapshot, String> {
        Ok(drawn(1 + self.0.elapsed().as_millis() as u64 / 200))
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let listen = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:9464".to_owned()).parse()?;
    let server = Server::listen(Options { listen, token: None, top: 50 })?;
    eprintln!("http://{}/", server.at());
    Ok(server.run(&mut Growing(Instant::now()), &|| false)?)
}
