//! `corewise symbolize`: names the functions of a recording later, or on another machine.

use crate::args::Global;
use crate::failure::{Failure, OK};
use crate::output::{print, say};
use crate::progress::Line;
use engine::{NameCounts, SymbolPath, build_id};
use model::words::{TIE, plain, plural};
use std::path::{Path, PathBuf};
use stores::{DebugFile, Debuginfod};

const AFTER: &str = "\
Examples:
  corewise symbolize run.cw                             after installing packages with debug symbols
  corewise symbolize run.cw --debug-dir /mnt/sysroot    with files of the machine that was recorded
  DEBUGINFOD_URLS=https://debuginfod.debian.net corewise symbolize run.cw --debuginfod

Files are used only if their build id is that of the recorded program. Besides DIR, this machine's usual places are searched: the recorded \
path, /usr/lib/debug, and perf's cache ~/.debug. The folder keeps the recorded addresses and names, and what was found before, so \
that the command can be repeated. A request to a debuginfod server says which programs were recorded: none is made without --debuginfod. \
What servers send is kept in $XDG_CACHE_HOME/corewise/debuginfod; what was not used for the longest time is removed from it.";

/// Find names, source lines and inlined functions for the callchains of a recording
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER)]
pub struct Args {
    /// The trace folder
    trace: PathBuf,
    /// Fetch debug files from the servers in DEBUGINFOD_URLS
    #[arg(long)]
    debuginfod: bool,
    /// The largest file to fetch, MB
    #[arg(long, value_name = "MB", default_value_t = 2000, requires = "debuginfod")]
    max_download: u32,
    /// The largest size of the files kept in the cache, MB
    #[arg(long, value_name = "MB", default_value_t = 8000, requires = "debuginfod")]
    max_cache: u32,
}

/// Runs the command.
///
/// # Errors
/// The folder cannot be read or written, or no debuginfod server answers.
pub fn run(args: &Args, global: &Global) -> Result<u8, Failure> {
    if stores::is_url(&args.trace) {
        return Err(Failure::usage("symbolize writes into a folder of this machine: fetch the recording first"));
    }
    let mut symbols = global.symbols();
    let mut failed = Vec::new();
    if args.debuginfod {
        let (folder, why) = fetch(args, &symbols)?;
        symbols = symbols.with_folders(&[folder]);
        failed = why;
    }
    let mut line = Line::new();
    line.show(|| "Reading debug information".to_owned());
    let done = engine::symbolize(&args.trace, &symbols)?;
    drop(line);
    let path = args.trace.display();
    if done.now.all == 0 {
        print(&format!("{path}: the recording has no callchains: there is nothing to name\n"))?;
        return Ok(OK);
    }
    let row = |what: &str, of: fn(&NameCounts) -> u64| {
        format!("  {what}: {} (before: {})\n", plural(of(&done.now), "frame").replace(TIE, " "), of(&done.before))
    };
    let mut text = format!("{path}: {} of callchains\n", plural(done.now.all, "distinct frame").replace(TIE, " "));
    text += &row("with a name", |counts| counts.named);
    text += &row("with a source line", |counts| counts.with_lines);
    text += &row("inlined", |counts| counts.inlined);
    for sentence in &done.nameless {
        text += &format!("{}\n", plain(sentence));
    }
    print(&text)?;
    for why in &failed {
        say(&format!("corewise: {why}"));
    }
    Ok(OK)
}

/// Fetches the debug files of what has no names. Returns the folder with them, and what failed.
fn fetch(args: &Args, symbols: &SymbolPath) -> Result<(PathBuf, Vec<String>), Failure> {
    let urls = std::env::var("DEBUGINFOD_URLS").unwrap_or_default();
    let urls: Vec<String> = urls.split_ascii_whitespace().map(str::to_owned).collect();
    if urls.is_empty() {
        let why = "--debuginfod needs the servers' URLs in DEBUGINFOD_URLS, such as https://debuginfod.debian.net or https://debuginfod.ubuntu.com";
        return Err(Failure::usage(why));
    }
    let cache =
        cache().ok_or_else(|| Failure::new("there is no cache: set XDG_CACHE_HOME or HOME to an absolute path"))?;
    let bytes = |mb: u32| u64::from(mb) * 1_000_000;
    let mut servers =
        Debuginfod::new(&urls, &cache, bytes(args.max_cache), bytes(args.max_download)).map_err(Failure::new)?;
    let files = engine::files_without_names(&args.trace)?;
    let (mut line, mut failed, mut fetched) = (Line::new(), Vec::new(), 0_usize);
    for (number, (file, id)) in files.iter().enumerate() {
        if servers.is_down() {
            break;
        }
        let has = |path: &Path| path.is_file() && build_id::of_any(path).as_deref() == Some(id);
        let mut get = |what: DebugFile| {
            let mut progress = |bytes: u64| {
                line.show(|| {
                    format!("Fetching {} of {}: {file}, {:.1} MB", number + 1, files.len(), bytes as f64 / 1e6)
                });
            };
            progress(0);
            match servers.fetch(id, what, &has, &mut progress) {
                Ok(found) => fetched += usize::from(found.is_some()),
                Err(why) => failed.extend(why),
            }
        };
        get(DebugFile::DebugInfo);
        // Debug files do not say where in the program their code is.
        if !symbols.has(file, id) {
            get(DebugFile::Executable);
        }
    }
    drop(line);
    if servers.is_down() && fetched == 0 {
        let why = failed.join("; ");
        let todo =
            "repeat the command when the server can be reached, or give a folder with debug files by --debug-dir";
        return Err(Failure::new(format!("no debuginfod server answers: {why}. Nothing was changed: {todo}")));
    }
    Ok((servers.folder().to_owned(), failed))
}

/// The folder for fetched files: in `XDG_CACHE_HOME`, or else in `.cache` of `HOME`.
fn cache() -> Option<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let home = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?;
    Some(home.join("corewise").join("debuginfod"))
}
