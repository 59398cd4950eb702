//! `corewise watch --listen`: shows the sums continuously, as metrics and as a page; `--unit`: the systemd unit that does.

use crate::failure::{Failure, OK};
use crate::output::{print, say};
use capture::Signals;
use exporter::{ExporterError, Options, Server, Source, Token};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use watch::{Snapshot, WatchOptions, Watcher};

/// The port that Prometheus' list of exporters has for OpenTelemetry's and other general ones, and the default here.
const PORT: u16 = 9464;

/// Where the sums are shown.
#[derive(Debug, clap::Args)]
pub struct ListenArgs {
    /// Serve the figures on this address until ended: metrics for Prometheus at /metrics, a page at /
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = address, conflicts_with_all = ["time", "command", "format"])]
    listen: Option<SocketAddr>,
    /// Requests for figures need the token in this file; other hosts can be served only with one
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Print a hardened systemd unit that runs this command with its other options, and exit
    #[arg(long, conflicts_with_all = ["time", "command", "format"])]
    unit: bool,
}

impl ListenArgs {
    /// Whether the sums are to be shown continuously.
    pub fn is_wanted(&self) -> bool {
        self.listen.is_some() || self.unit || self.token_file.is_some()
    }
}

/// An address with a port; only a port means loopback.
fn address(text: &str) -> Result<SocketAddr, String> {
    let local = |port| SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port);
    if let Ok(port) = text.parse::<u16>() {
        return Ok(local(port));
    }
    if let Some(port) = text.strip_prefix("localhost:").and_then(|port| port.parse().ok()) {
        return Ok(local(port));
    }
    text.parse().map_err(|_| format!("expected an IP address and a port, such as 127.0.0.1:{PORT}"))
}

impl From<ExporterError> for Failure {
    fn from(error: ExporterError) -> Self {
        Self::new(error.to_string())
    }
}

/// The watcher as a source of snapshots.
struct Watched(Watcher);

impl Source for Watched {
    fn read(&mut self) -> Result<Snapshot, String> {
        Ok(self.0.read())
    }
}

/// Runs the command. `chosen` has the options that say what is watched, as they were given.
///
/// # Errors
/// The address cannot be listened on, the token cannot be used, or watching is not permitted.
pub fn run(
    args: &ListenArgs,
    options: &dyn Fn() -> Result<WatchOptions, Failure>,
    chosen: &[String],
    machine: Arc<engine::Machine>,
    describe: impl Fn() -> engine::Machine + Send + 'static,
) -> Result<u8, Failure> {
    let listen = args.listen.unwrap_or(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), PORT));
    if args.unit {
        return unit(args, listen, chosen);
    }
    if args.listen.is_none() {
        return Err(Failure::usage("--token-file is for --listen ADDRESS:PORT: add it"));
    }
    let token = args.token_file.as_deref().map(Token::read).transpose()?;
    let options = options()?;
    let (top, signals) = (options.top, Signals::take());
    let server = Server::listen(Options { listen, token, top })?;
    // All groups that have sums of their own: the exporter chooses among them, so that no counter falls.
    let options = WatchOptions { top: options.max_groups, ..options };
    let mut watcher = Watcher::start(&options, machine)?.described_by(describe);
    watcher.read().lacks.iter().for_each(|lack| say(&format!("warning: {lack}")));
    if let Err(why) = capture::drop_all_but_bpf() {
        say(&format!("warning: capabilities that are no longer needed could not be dropped: {why}"));
    }
    print(&format!("http://{}/\n", server.at()))?;
    if !server.at().ip().is_loopback() {
        say("warning: the traffic is not encrypted: others on the way can read it, including the token");
    }
    server.run(&mut Watched(watcher), &|| signals.stop())?;
    Ok(OK)
}

fn unit(args: &ListenArgs, listen: SocketAddr, chosen: &[String]) -> Result<u8, Failure> {
    if !listen.ip().is_loopback() && args.token_file.is_none() {
        return Err(ExporterError::NeedsToken(listen).into());
    }
    let binary = std::env::current_exe().map_err(|why| Failure::new(format!("cannot find this binary: {why}")))?;
    let token = args.token_file.as_ref().map(|path| std::path::absolute(path).unwrap_or_else(|_| path.clone()));
    print(&exporter::unit(&binary, listen, chosen, token.as_deref()))?;
    if ["/home", "/root", "/run/user", "/tmp", "/var/tmp"].iter().any(|hidden| binary.starts_with(hidden)) {
        say(&format!(
            "warning: the unit cannot see {}: install corewise first (make install, or the package) and print the unit with that one",
            binary.display()
        ));
    }
    Ok(OK)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn an_address_may_be_a_port_only() {
        let text = |text: &str| address(text).map(|at| at.to_string());
        assert_eq!(text("9464").unwrap(), "127.0.0.1:9464");
        assert_eq!(text("localhost:80").unwrap(), "127.0.0.1:80");
        assert_eq!(text("0.0.0.0:1").unwrap(), "0.0.0.0:1");
        assert_eq!(text("[::1]:9464").unwrap(), "[::1]:9464");
        for wrong in ["", "host:80", "127.0.0.1", "99999", "::1:80x"] {
            assert!(text(wrong).unwrap_err().contains("127.0.0.1:9464"), "{wrong}");
        }
    }
}
