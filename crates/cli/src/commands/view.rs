//! `corewise view`: a trace on one timeline, in the browser.

use crate::args::{Global, duration};
use crate::failure::{Failure, OK};
use crate::output::{self, print, say};
use crate::progress::{Line, of_levels};
use engine::Slow;
use model::Ns;
use serve::{Options, Server, Trace, Tracks};
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const AFTER: &str = "\
Examples:
  corewise view run.cw                       opens the browser; Ctrl-C ends it
  corewise view run.cw --no-open --port 8000
  corewise view before.cw after.cw           both, one above the other, with one zoom
  corewise view run.cw --html run.html       as one page that needs no server, to keep or to send
  corewise import perf.data -o run.cw && corewise view run.cw

The address is the only line on standard output. It holds a token of this run, without which nothing is answered; only this \
machine can reach it. A page of --html has the trace in it and asks for nothing: it opens from any disk, without a network; where \
--html-limit leaves no room for every stretch, the page and the command say what the finest detail is. The first view of a trace prepares it for all zooms, in run.cw/levels or, where that cannot be written, \
in the user's cache.";

/// Show a trace folder in the browser, or two beside each other: every CPU and thread on one timeline
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER)]
pub struct Args {
    /// A trace folder
    trace: PathBuf,
    /// Another one, shown beside it: aligned on their beginnings or on a mark, with one zoom
    beside: Option<PathBuf>,
    /// Listen on this port [default: any that is free]
    #[arg(long, value_name = "PORT", default_value_t = 0, hide_default_value = true)]
    port: u16,
    /// Print the address, and open no browser
    #[arg(long)]
    no_open: bool,
    /// End when nothing was asked for so long
    #[arg(long, value_name = "SECONDS")]
    idle: Option<u64>,
    /// Listen on this address of the machine instead of loopback: others can then read along what is answered
    #[arg(long, value_name = "ADDRESS", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST), hide_default_value = true)]
    listen: IpAddr,
    /// What a frame may take, as 16.7ms: the line across the tracks of frames [default: the median of their times]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    budget: Option<Duration>,
    /// As one page with the trace in it, into this new file (- is standard output), instead of serving: no network, no server
    #[arg(long, value_name = "FILE", conflicts_with_all = ["beside", "port", "no_open", "idle", "listen"])]
    html: Option<PathBuf>,
    /// So large at most are the trace's data in that page
    #[arg(long, value_name = "MB", default_value_t = 20.0, requires = "html", value_parser = megabytes)]
    html_limit: f64,
    /// Leave out paths and host names in that page; names of threads and processes, and of marks, stay
    #[arg(long, requires = "html")]
    redact: bool,
}

/// Serves.
///
/// # Errors
/// The trace cannot be read, or nobody can listen there.
pub fn run(args: &Args, global: &Global) -> Result<u8, Failure> {
    if !serve::are_built() {
        return Err(Failure::new(
            "this corewise was built without the viewer's pages: run `make` in its source, on a machine with Node.js 20 or later \
             and npm; `corewise report` tells the same trace as text or as one page",
        ));
    }
    if let Some(path) = &args.html {
        return write_page(path, args, global);
    }
    let first = prepared(&args.trace, args, global)?;
    let beside = args.beside.as_deref().map(|path| prepared(path, args, global)).transpose()?;
    if !args.listen.is_loopback() {
        say(&format!(
            "warning: on {} other machines can reach it, and what is answered, with the token, can be read on the way: \
             use `ssh -L` where you can",
            args.listen
        ));
    }
    let options = Options { listen: args.listen, port: args.port, idle: args.idle.map(Duration::from_secs) };
    let server = match beside {
        Some(beside) => Server::bind_two(first, beside, &options)?,
        None => Server::bind(first.session, first.tracks, first.levels, &options)?,
    };
    let address = server.address();
    print(&format!("{address}\n"))?;
    if !has_display() {
        let (port, host) = (server.at().port(), host());
        say(&format!("from another machine: ssh -L {port}:127.0.0.1:{port} {host}, then open that address there"));
    } else if !args.no_open {
        open(&address);
    }
    server.run()?;
    Ok(OK)
}

/// What browsers open: their longest text is of some 500 million characters.
fn megabytes(words: &str) -> Result<f64, String> {
    let told = words.parse::<f64>().ok().filter(|mb| (0.01..=400.0).contains(mb));
    told.ok_or_else(|| "a number of megabytes from 0.01 to 400, as 20".into())
}

/// The trace as one page, and what is not in it.
fn write_page(path: &Path, args: &Args, global: &Global) -> Result<u8, Failure> {
    if path != Path::new("-") && path.exists() {
        // Before minutes of work, not after them.
        return Err(Failure::at(path)(std::io::ErrorKind::AlreadyExists.into()));
    }
    let mut trace = prepared(&args.trace, args, global)?;
    if args.redact {
        trace.session.redact();
    }
    let page = serve::page(&trace, (args.html_limit * 1e6) as usize)?;
    let lacking = match (page.finest_ns, page.has_rows) {
        (0, true) => String::new(),
        (0, false) => {
            "; it has no room for who woke whom and why threads waited: `corewise view` tells it, or a larger \
                       --html-limit"
                .to_owned()
        }
        (ns, _) => format!(
            "; finest detail of every track: {} us: `corewise view` shows all, a larger --html-limit more",
            ns as f64 / 1e3
        ),
    };
    let megabytes = page.html.len() as f64 / 1e6;
    output::write_page(
        path,
        &page.html,
        &format!("the trace as one page of {megabytes:.1} MB, for any browser{lacking}"),
    )?;
    if path == Path::new("-") && !lacking.is_empty() {
        say(&format!("the page is not all of the trace{lacking}"));
    }
    Ok(OK)
}

/// A trace, prepared for all zooms.
fn prepared(path: &Path, args: &Args, global: &Global) -> Result<Trace, Failure> {
    let shown = path.display();
    if path.is_file() {
        return Err(Failure::usage(format!(
            "{shown} is no trace folder: run `corewise import {shown} -o run.cw` first"
        )));
    }
    let budget = args.budget.map(|d| Ns(i64::try_from(d.as_nanos()).unwrap_or(i64::MAX)));
    let session = global.open(path)?.slow(Slow { budget, ..Slow::default() });
    let tracks = Tracks::of(&session)?;
    let (mut line, began) = (Line::new(), Instant::now());
    let levels = serve::prepare(&session, &tracks, &mut |read| of_levels(&mut line, read))?;
    drop(line);
    if levels.made {
        say(&format!("prepared {shown} for all zooms in {:.1} s", began.elapsed().as_secs_f64()));
        give_back();
    }
    Ok(Trace { session, tracks, levels })
}

/// What making the levels took goes back to the system: glibc would keep it for threads that have ended, and a server lives long.
fn give_back() {
    #[cfg(target_env = "gnu")]
    // SAFETY: it takes the allocator's own locks, and leaves what is in use.
    unsafe {
        libc::malloc_trim(0);
    }
}

fn has_display() -> bool {
    ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| std::env::var_os(name).is_some_and(|v| !v.is_empty()))
}

/// In the user's browser; that there is none is no error, the address is printed.
fn open(address: &str) {
    let mut command = Command::new("xdg-open");
    command.arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if command.spawn().is_err() {
        say("no browser was found (xdg-open): open the address yourself");
    }
}

fn host() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    if name.trim().is_empty() { "HOST".into() } else { name.trim().into() }
}
