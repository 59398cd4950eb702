//! `corewise view`: shows a trace on a timeline in the browser.

use crate::args::{Global, Redacted, budget, duration};
use crate::failure::{Failure, OK};
use crate::output::{self, print, say};
use crate::store_copies;
use crate::view_changes;
use crate::view_source::{self, Progress, Source};
use engine::SlowFrameOptions;
use model::Ns;
use serve::{Options, Preparation, Server, Trace, Tracks};
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const AFTER: &str = "\
Examples:
  corewise view run.cw                       open the browser; end with Ctrl-C
  corewise view run.cw --no-open --port 8000
  corewise view before.cw after.cw           two traces, one above the other, with a shared zoom; colours show what changed
  corewise view run.cw --html run.html       write one page that needs no server, to keep or to send
  corewise view perf.data                    any recording of another tool: see `corewise formats`
  corewise view run.cw --share 2h            print a second address, which allows only reading and ends after two hours

The address is the only line on standard output, with --share the first of two. It contains a token for this run, which every request \
needs; only this machine can reach it. The page opens immediately and shows the progress until the trace is prepared. A page written with --html contains the trace and needs no network. If --html-limit leaves no room for every stretch, the \
page and the command state the finest detail. The first view of a trace folder builds its levels of detail, in run.cw/levels or, if that \
folder is not writable, in the user's cache. A recording of another tool is imported into the user's cache, $XDG_CACHE_HOME/corewise or \
~/.cache/corewise, which only the user can read; what was not viewed for longest is removed when it has more than 8 GiB.";

/// Show a trace, or two for comparison, on a timeline of all CPUs and threads in the browser
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER)]
pub struct Args {
    /// A trace folder, or a recording of another tool; - is standard input
    trace: PathBuf,
    /// A second trace to compare with, aligned on the starts of the traces or on a mark, with a shared zoom
    second: Option<PathBuf>,
    /// Listen on this port [default: any free port]
    #[arg(long, value_name = "PORT", default_value_t = 0, hide_default_value = true)]
    port: u16,
    /// Print the address and do not open a browser
    #[arg(long)]
    no_open: bool,
    /// Exit after this time without requests, in seconds [default: never]
    #[arg(long, value_name = "SECONDS")]
    idle: Option<u64>,
    /// Listen on this address instead of loopback; other hosts can then read the traffic [default: 127.0.0.1]
    #[arg(long, value_name = "ADDRESS", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST), hide_default_value = true)]
    listen: IpAddr,
    /// Print a second address that allows only reading and ends after this time, such as 2h; others can reach it only with --listen
    #[arg(long, value_name = "TIME", value_parser = duration)]
    share: Option<Duration>,
    /// Frame budget, such as 16.7ms: the line across the tracks of frames [default: the median frame time]
    #[arg(long, value_name = "TIME", value_parser = budget)]
    budget: Option<Duration>,
    /// Write one HTML page that contains the trace to this new file (- is standard output) instead of starting a server
    #[arg(long, value_name = "FILE", conflicts_with_all = ["second", "port", "no_open", "idle", "listen", "share"])]
    html: Option<PathBuf>,
    /// Maximum trace data size in that page, in MB
    #[arg(long, value_name = "MB", default_value_t = 20.0, requires = "html", value_parser = megabytes)]
    html_limit: f64,
    /// Begin that page with this view and its notes: the address of the viewer, or its part from # on
    #[arg(long, value_name = "ADDRESS", requires = "html", value_parser = fragment)]
    at: Option<String>,
    /// Leave out of that page paths, host names, addresses, and the tracks of power and temperature, so that it can be passed on. --redact=names also
    /// replaces names of threads, processes, functions and marks by others, such as `thread A` (docs/security.md)
    #[arg(long, requires = "html", value_name = "WHAT", num_args = 0..=1, require_equals = true, default_missing_value = "private", hide_possible_values = true)]
    redact: Option<Redacted>,
}

/// Runs the command.
///
/// # Errors
/// The trace cannot be read, or the address cannot be listened on.
pub fn run(args: &Args, global: &Global) -> Result<u8, Failure> {
    if !serve::are_built() {
        return Err(Failure::new(
            "this build of corewise has no viewer: run `make` in its source folder, with Node.js 20 or later and npm installed; \
             `corewise report` shows the trace as text or as an HTML page",
        ));
    }
    if let Some(path) = &args.html {
        return write_page(path, args, global);
    }
    if !args.listen.is_loopback() {
        say(&format!(
            "warning: other hosts can reach the viewer on {} and can read its traffic, including the token: prefer `ssh -L`",
            args.listen
        ));
    }
    let idle = args.idle.map(Duration::from_secs);
    let options = Options { listen: args.listen, port: args.port, idle, share: args.share };
    for path in
        [Some(&args.trace), args.second.as_ref()].into_iter().flatten().filter(|path| path.as_path() != Path::new("-"))
    {
        // No page is opened for what does not exist.
        store_copies::check(path)?;
    }
    let (server, preparation) = Server::listen(&options)?;
    let address = server.address();
    print(&format!("{address}\n"))?;
    if let (Some(shared), Some(time)) = (server.shared_address(), args.share) {
        print(&format!("{shared}\n"))?;
        let reach = if args.listen.is_loopback() { "; only this machine can reach it: see --listen" } else { "" };
        say(&format!("The second address allows only reading and ends in {}{reach}.", in_words(time)));
    }
    if !has_display() {
        let (port, host) = (server.at().port(), host());
        say(&format!(
            "No display found. To view it on another machine, run `ssh -L {port}:127.0.0.1:{port} {host}` there and open the address above."
        ));
    } else if !args.no_open {
        open(&address);
    }
    std::thread::scope(|scope| {
        let preparing = scope.spawn(|| prepare(preparation, args, global));
        server.run()?;
        match preparing.join() {
            // Entries of the cache are in use until here.
            Ok(entries) => entries.map(|_| OK),
            Err(_) => Err(Failure::new("preparing the trace failed: please report it")),
        }
    })
}

/// Prepares what is shown, while the server shows the progress. Returns the sources, which must stay in the cache until the server ends.
fn prepare(preparation: Preparation, args: &Args, global: &Global) -> Result<Vec<Source>, Failure> {
    let made = || {
        let first = prepared(&args.trace, args, global, Some(&preparation))?;
        let second = args.second.as_deref().map(|path| prepared(path, args, global, Some(&preparation)));
        Ok((first, second.transpose()?))
    };
    match made() {
        Ok(((first, source), None)) => preparation.ready(first, None).map(|()| vec![source]).map_err(Failure::from),
        Ok(((first, source), Some((second, other)))) => {
            let (to, from) = serve::changes();
            let folders = [&source, &other].map(|of: &Source| of.folder.clone());
            preparation.ready(first, Some((second, from)))?;
            view_changes::start(folders, global, to);
            Ok(vec![source, other])
        }
        Err(why) => {
            let why: Failure = why;
            preparation.failed(&why.message);
            Err(why)
        }
    }
}

/// Returns a time as in `2 h`.
fn in_words(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    let (number, unit) = match seconds {
        s if s >= 3600.0 => (s / 3600.0, "h"),
        s if s >= 60.0 => (s / 60.0, "min"),
        s => (s, "s"),
    };
    format!("{} {unit}", (number * 10.0).round() / 10.0)
}

/// Parses --html-limit. The maximum is what browsers can open: their longest string has about 500 million characters.
fn megabytes(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|mb| (0.01..=400.0).contains(mb));
    number.ok_or_else(|| "expected a number of megabytes from 0.01 to 400, such as 20".into())
}

/// The maximum length of a fragment, in bytes: forty notes of the longest texts are shorter.
const MAX_FRAGMENT: usize = 1 << 16;

/// Parses --at: the fragment of an address.
fn fragment(text: &str) -> Result<String, String> {
    let fragment = text.find('#').map_or("", |at| &text[at..]);
    let is_plain = fragment.len() > 1 && fragment.bytes().all(|byte| byte.is_ascii_graphic());
    match is_plain && fragment.len() <= MAX_FRAGMENT {
        true => Ok(fragment.to_owned()),
        false => Err("expected the address of the viewer with its part from # on, such as '#t=0..1000000'".into()),
    }
}

/// Writes the trace as one HTML page and prints what the page lacks.
fn write_page(path: &Path, args: &Args, global: &Global) -> Result<u8, Failure> {
    if path != Path::new("-") && path.exists() {
        // Checked before minutes of work.
        return Err(Failure::at(path)(std::io::ErrorKind::AlreadyExists.into()));
    }
    let (trace, _source) = prepared(&args.trace, args, global, None)?;
    let page = serve::page_at(&trace, (args.html_limit * 1e6) as usize, args.at.as_deref().unwrap_or(""))?;
    let missing = match (page.finest_ns, page.has_rows) {
        (0, true) => String::new(),
        (0, false) => {
            "; wakeups and causes of waits did not fit: use `corewise view` or a larger --html-limit".to_owned()
        }
        (ns, _) => format!(
            "; finest detail of every track: {} us: use a larger --html-limit for more, `corewise view` for all",
            ns as f64 / 1e3
        ),
    };
    let megabytes = page.html.len() as f64 / 1e6;
    output::write_page(path, &page.html, &format!("trace as one HTML page of {megabytes:.1} MB{missing}"))?;
    if path == Path::new("-") && !missing.is_empty() {
        say(&format!("note: the page does not contain the whole trace{missing}"));
    }
    Ok(OK)
}

/// Opens a trace, after an import if it is a recording of another tool, and builds its levels of detail if needed.
fn prepared(path: &Path, args: &Args, global: &Global, page: Option<&Preparation>) -> Result<(Trace, Source), Failure> {
    let shown = path.display();
    let mut progress = Progress::new(page);
    let source = view_source::folder(path, global, &mut progress)?;
    let budget = args.budget.map(|d| Ns(i64::try_from(d.as_nanos()).unwrap_or(i64::MAX)));
    let mut session = view_source::open(&source, global)?;
    if let Some(what) = args.redact {
        // The timeline is made from what is shown.
        session.redact(what.into());
    }
    let session = session.with_slow_frames(SlowFrameOptions { budget, ..SlowFrameOptions::default() });
    let tracks = Tracks::of(&session)?;
    let began = Instant::now();
    let levels = serve::prepare(&session, &tracks, &mut |read| {
        progress.show(|| format!("Preparing the timeline of {shown}: {read} stretches"));
    })?;
    drop(progress);
    if levels.made {
        say(&format!("Prepared the timeline of {shown} in {:.1} s", began.elapsed().as_secs_f64()));
        release_memory();
    }
    Ok((Trace { session, tracks, levels }, source))
}

/// Returns freed memory to the system after building the levels: glibc would keep it for threads that have ended.
fn release_memory() {
    #[cfg(target_env = "gnu")]
    // SAFETY: it takes the allocator's own locks and does not touch memory in use.
    unsafe {
        libc::malloc_trim(0);
    }
}

fn has_display() -> bool {
    ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| std::env::var_os(name).is_some_and(|v| !v.is_empty()))
}

/// Opens the address in the user's browser. Having no browser is not an error: the address is printed.
fn open(address: &str) {
    let mut command = Command::new("xdg-open");
    command.arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if command.spawn().is_err() {
        say("No browser found (xdg-open): open the address above yourself.");
    }
}

fn host() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    if name.trim().is_empty() { "HOST".into() } else { name.trim().into() }
}
