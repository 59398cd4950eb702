//! `corewise record`: this machine, for a while or while a command runs.

use crate::args::{Global, duration};
use crate::failure::{Failure, INCOMPLETE, OK};
use crate::folder_name;
use crate::output::say;
use crate::progress::Line;
use crate::spool::Spool;
use capture::{Backend, CaptureError, Ended, MarkPoint, RecordOptions, Recorded, Target};
use clap::ValueEnum;
use engine::{Accounted, PassOptions};
use safefs::Access;
use std::path::PathBuf;
use std::time::Duration;

const AFTER: &str = "\
Examples:
  corewise record -o run.cw -- ./game              the whole machine while ./game runs
  corewise record -o run.cw --duration 10          the whole machine, ten seconds
  corewise record -o run.cw --pid 1234             until process 1234 ends
  corewise record -o run.cw --keep 30s -- ./game   a flight recorder: the last 30 seconds are kept
  corewise record -o run.cw --stacks -- ./server   what threads wait for, by callchain
  corewise record --mark frame=/usr/lib/x86_64-linux-gnu/libvulkan.so.1:vkQueuePresentKHR -- ./game
  corewise record --mark request=./server:handle_request --mark gc=./server:usdt:vm:gc_begin --pid 1234

What programs write to tracefs' trace_marker is kept (as root, where the kernel copies it): `B|pid|name` and `E|pid` begin and \
end a stretch of the thread, as Android's atrace has it, and any other text is a moment. --mark makes a stretch of each call of a \
function, in any process that runs FILE, and a moment of each passing of a USDT probe; a call that does not return by itself \
(longjmp, an exception) stays open. Each costs the program two traps into the kernel: mark what runs some thousand times a \
second, not more. `corewise table DIR marks` tells them.

--stacks keeps the callchain of each switch-out that blocks, in the kernel and in the program, each different one once: \
`corewise table DIR switch_causes` then tells what each thread waits for (the system call, a page fault, or in a kernel thread the \
first function that is not the scheduler's), and `corewise export --to firefox` shows where. Functions are named by the kernel's \
own list and by the symbols of the files, as far as these are there at the end; files are kept by build id. Programs are followed \
by their frame pointers: of code without them the innermost function is right, and its callers are missing or wrong. Of a process \
that ends within a tenth of a second there are addresses alone. It takes 50 MB of the kernel's memory, and each such switch some \
microseconds.

All forms record the switches, wakings and migrations of the whole machine: who ran instead is the point. Without a command, \
--pid or --duration it ends at Ctrl-C. Events are spooled to DIR/spool as they come and converted at the end; if corewise is \
killed, `corewise recover DIR` makes a trace of what there is. A recording holds the command lines of all processes: the folder is \
its owner's alone, unless --shared; under sudo it goes to who called it, in a folder of theirs. Needs root, or the capabilities that `corewise doctor` names.

Exit codes: that of COMMAND; 127 or 126 where it cannot be run; 3 where the recording ended early (a full disk).";

/// Trace this machine into a new trace folder
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER)]
pub struct Args {
    /// The new trace folder [default: corewise-DATE-TIME.cw]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// End after this time: 10, 2.5s, 5m
    #[arg(short, long, value_name = "TIME", value_parser = duration)]
    duration: Option<Duration>,
    /// Until Ctrl-C, or the duration is over; so it is without a command and --pid anyway
    #[arg(short, long, conflicts_with_all = ["pid", "command"])]
    all: bool,
    /// Until this process ends; the report shows it first
    #[arg(short, long, conflicts_with = "command")]
    pid: Option<i32>,
    /// Interrupts too: of devices, soft ones, timers by their function, those that other CPUs send
    #[arg(long)]
    irq: bool,
    /// Flight recorder: keep only the last such time
    #[arg(long, value_name = "TIME", value_parser = duration)]
    keep: Option<Duration>,
    /// Leave out the names and command lines of all processes but the command's or --pid's
    #[arg(long)]
    only_focus: bool,
    /// Mark each call of a function, by its symbol in a program or library, or FILE:usdt:PROVIDER:PROBE; may be repeated
    #[arg(long, value_name = "NAME=FILE:SYMBOL")]
    mark: Vec<MarkPoint>,
    /// Keep where in their code threads go to wait: the callchain of each switch-out that blocks, in the kernel and in programs
    /// that keep frame pointers
    #[arg(long)]
    stacks: bool,
    /// How the kernel is asked; auto: BPF where it works, else perf events
    #[arg(long, default_value = "auto")]
    backend: By,
    /// Let every user of this machine read the folder: it is otherwise yours alone (0700, its files 0600)
    #[arg(long)]
    shared: bool,
    /// Keep the raw events in DIR/spool after they were converted
    #[arg(long)]
    keep_spool: bool,
    /// A command with its arguments; the recording ends when it and its children have ended
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum By {
    Auto,
    Bpf,
    Perf,
}

/// Records.
///
/// # Errors
/// It may not be done, or did not work.
pub fn run(args: Args, global: &Global) -> Result<u8, Failure> {
    let mut options = RecordOptions::new(args.output.unwrap_or_else(|| folder_name::new("corewise")));
    if args.only_focus && args.pid.is_none() && args.command.is_empty() {
        return Err(Failure::usage("--only-focus needs a process to focus on: --pid PID or -- COMMAND"));
    }
    options.access = Access::shared(args.shared);
    options.target = match args.pid {
        Some(pid) => Target::Pid(pid),
        None if args.command.is_empty() => Target::All,
        None => Target::Command(args.command),
    };
    options.duration = args.duration;
    options.irq = args.irq;
    options.keep = args.keep;
    options.only_focus = args.only_focus;
    options.marks = args.mark;
    options.stacks = args.stacks;
    options.backend = match args.backend {
        By::Auto => Backend::Auto,
        By::Bpf => Backend::Bpf,
        By::Perf => Backend::Perf,
    };
    // Read before anything is recorded: what is wrong with it should not cost a recording.
    let pass = global.pass_options()?;
    let recorded = record_spool(options)?;
    let accounted = convert(&recorded, args.keep_spool, &pass)?;
    tell(&recorded, &accounted);
    Ok(recorded.exit_code.map_or(OK, |code| u8::try_from(code).unwrap_or(u8::MAX)))
}

/// Records into a folder, which then holds a spool.
///
/// # Errors
/// It may not be done, or did not work.
pub fn record_spool(mut options: RecordOptions) -> Result<Recorded, CaptureError> {
    options.machine = Some(engine::live());
    options.arguments = std::env::args().collect();
    let mut line = Line::new();
    capture::record(&options, &mut |p| {
        line.show(|| {
            let (seconds, mb) = (p.elapsed.as_secs_f64(), p.bytes as f64 / 1e6);
            format!("recording: {seconds:.0} s, {} events, {mb:.1} MB, {} lost", p.events, p.lost)
        });
    })
}

/// Makes a trace folder of what was just recorded.
///
/// # Errors
/// It cannot be written.
pub fn convert(recorded: &Recorded, keep_spool: bool, pass: &PassOptions) -> Result<Accounted, Failure> {
    let dir = recorded.folder.path().display();
    Spool::within(recorded.folder.clone())?.convert(keep_spool, pass).map_err(|why| Failure {
        words: format!("{}; what was recorded is whole: `corewise recover {dir} -o OTHER` converts it", why.words),
        code: INCOMPLETE,
    })
}

fn tell(recorded: &Recorded, accounted: &Accounted) {
    let (dir, cost) = (recorded.folder.path().display(), &recorded.cost);
    let why = match recorded.ended {
        Ended::Duration => "its time was over",
        Ended::Target => "what it was made for has ended",
        Ended::Stopped => "stopped",
    };
    let wall = recorded.elapsed.as_secs_f64();
    say(&format!(
        "{dir}: {} events in {wall:.3} s ({why}), {} lost, by {}",
        accounted.totals.events, cost.lost, recorded.backend
    ));
    let ms = |ns: i64| ns as f64 / 1e6;
    let bpf = cost.bpf_ns.map(|ns| format!(", its BPF programs {:.1} ms", ms(ns))).unwrap_or_default();
    say(&format!(
        "own cost: recorder {:.1} ms of CPU time{bpf}, {:.1} MB of memory, {:.1} MB spooled",
        ms(cost.recorder_cpu_ns),
        cost.max_rss_bytes as f64 / 1e6,
        cost.spool_bytes as f64 / 1e6
    ));
    for lack in &recorded.lacks {
        say(&format!("note: {lack}"));
    }
    say(&format!("next: corewise report {dir}"));
}
