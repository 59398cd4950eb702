//! `corewise record`: records this machine for a given time or while a command runs.

use crate::args::{Global, duration, label, pid};
use crate::built;
use crate::cores::Available;
use crate::costs;
use crate::counting;
use crate::failure::{Failure, INCOMPLETE, OK};
use crate::folder_name;
use crate::output::say;
use crate::progress::Line;
use crate::spool::Spool;
use capture::{Backend, CaptureError, Ended, Energy, MarkPoint, RecordOptions, Recorded, Sampling, Target};
use clap::ValueEnum;
use engine::{Accounted, CpuChoice, PassOptions};
use model::words::noun;
use safefs::Access;
use std::path::PathBuf;
use std::time::Duration;

const AFTER: &str = "\
Examples:
  corewise record -o run.cw -- ./game              the whole machine while ./game runs
  corewise record -o run.cw --duration 10          the whole machine, ten seconds
  corewise record -o run.cw --pid 1234             the whole machine until process 1234 ends
  corewise record -o run.cw --keep 30s -- ./game   flight recorder: keep the last 30 seconds
  corewise record -o run.cw --stacks -- ./server   with callchains of where threads block
  corewise record -o run.cw --sample=997 -- ./game with more samples of where threads run
  corewise record -o run.cw --no-sample -- ./game  without samples, which wake idle CPUs
  corewise record -o run.cw --power=100Hz -- ./game with energy and temperature 100 times a second
  corewise record -o run.cw --counters default -- ./game  with what the CPUs counted for each thread
  corewise record --cores 0-3 -o run.cw -- ./game  with the game bound to these CPUs
  corewise record --counters '{cycles,instructions},cache-misses:u' --duration 10
  corewise record --mark frame=/usr/lib/x86_64-linux-gnu/libvulkan.so.1:vkQueuePresentKHR -- ./game
  corewise record --mark request=./server:handle_request --mark gc=./server:usdt:vm:gc_begin --pid 1234

Marks: text that programs write to tracefs' trace_marker is recorded (as root, if the kernel supports it). `B|pid|name` and `E|pid` \
begin and end a mark of the writing thread, as in Android's atrace; any other text marks a moment. --mark records each call of a \
function as a mark, in every process that runs FILE, and each hit of a USDT probe as a moment. A call that ends without returning \
(longjmp, an exception) stays open. Each marked call costs the program two traps into the kernel, so mark functions that run at most \
a few thousand times a second. `corewise table DIR marks` lists the marks.

Waits: every recording has the system call or page fault in which a thread waits (x86-64 and arm64; `corewise table DIR switch_causes`), and \
what the wait is for. Of a futex call it has the address, and the words of memory there that name the holder of a lock (`corewise table DIR lock_waits`). Of other \
calls it has the pipe, connection, file or child, and of the kernel's own locks the holders (`corewise table DIR wait_objects`). --no-wait-objects leaves all objects out. --stacks records the callchain of each switch-out that blocks, in the kernel and in the program, which also shows what kernel threads \
wait for (the first function outside the scheduler); `corewise export --to firefox` shows the callchains. Functions are named from the kernel's symbol list \
and from the symbols of the files that exist when the recording ends; files are identified by build id. User callchains are unwound \
by the tables that compilers write (.eh_frame; Linux 5.17 or later on x86-64), and by frame pointers in code without them. A callchain that does not reach its root ends with a \
frame that says why (`[truncated: no unwind table]`), and the report counts them. Until the tables of a program are read, which takes milliseconds, its callchains follow frame pointers. \
--no-unwind follows frame pointers only: in code without them, the innermost function is right and its callers are missing or wrong. --stacks takes \
70 MB of kernel memory and a few microseconds per such switch; the tables take more (0.2 MB for glibc, 8 MB for libLLVM).

Samples: a clock interrupts each CPU 99 times a second (--sample: as often as you say), and the callchain of what it runs is \
recorded; `corewise table DIR samples` counts them by function, thread, type of core and state of the SMT sibling. The time between two samples is the same on \
all types of cores, so shares of samples are shares of running time. The clock also wakes idle CPUs: use --no-sample where idle states or \
energy matter. CPUs that come online during the recording are not sampled. While a CPU has interrupts disabled, its sample is \
delayed: time in such code is counted for the place that enables interrupts again.

Counters: --counters reads events of the CPUs at every switch and books them to the thread that leaves, so that counts are exact by \
thread, CPU and type of core. `default` is cycles and instructions; `corewise counters` lists what this machine has. Events in braces are counted \
at the same time; if a CPU has fewer counters than events, they take turns, and each count has the time in which it was counted. \
`corewise table DIR thread_counters`, thread_ipc and cpu_counters have the counts, and mark_counters those within \
marked stretches: exact for calls that --mark marks, which read the events too, and with a range for other marks. What the CPU does in the switch itself and in interrupts is booked to \
the thread that it interrupts. On this way each event costs a reading per switch; the recording states its overhead.

Energy: the energy of each domain (RAPL, batteries, sensors) and temperatures are read 10 times a second if that costs less than 0.1 % of a \
CPU, which is measured first (--power: as often as you say; --no-power: not). `corewise table DIR energy`, power_over_time and temperatures have the \
results. Reading RAPL needs root on most machines. docs/power.md says what fine readings reveal about other programs.

--cores binds the command before it begins, and with it all that it starts, unless these set their own CPU affinity. Of the chosen CPUs, those \
that are offline or not allowed for corewise itself are left out, and named. The whole machine is recorded all the same.

Costs: if `corewise bench` has measured what this machine's cores cost, the recording contains the figures, and `diagnose` uses them.

Every recording contains the context switches, wakeups and migrations of the whole machine, so that it shows which threads ran \
instead of yours. Without a command, --pid or --duration, recording ends at Ctrl-C. Events are spooled to DIR/spool and converted at \
the end; if corewise is killed, `corewise recover DIR` converts what was written. A recording contains the command lines of all \
processes, so only its owner can read the folder, unless --shared. Under sudo, the folder belongs to the user who called it, if it is \
in a folder of that user. Recording needs root, or the capabilities that `corewise doctor` names.

Exit codes: that of COMMAND; 127 or 126 if COMMAND cannot be run; 3 if the recording ended early (disk full).";

/// Record this machine into a new trace folder
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER)]
pub struct Args {
    /// The new trace folder [default: corewise-DATE-TIME.cw]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// End after this time, in seconds or with a unit (2.5, 500ms, 10s, 5m)
    #[arg(short, long, value_name = "TIME", value_parser = duration)]
    duration: Option<Duration>,
    /// Record until Ctrl-C or the end of --duration; the default without a command and --pid
    #[arg(short, long, conflicts_with_all = ["pid", "command"])]
    all: bool,
    /// Record until this process ends; the report lists it first. A name must be that of one process only
    #[arg(short, long, value_name = "PID or NAME", value_parser = pid, conflicts_with = "command")]
    pid: Option<i32>,
    /// Leave out interrupts: of devices, softirqs, timers with their function, and interprocessor interrupts
    #[arg(long)]
    no_irq: bool,
    /// Interrupts are recorded by default; accepted for scripts
    #[arg(long, hide = true, conflicts_with = "no_irq")]
    irq: bool,
    /// Flight recorder: keep only the last part of the recording, of this length (30s, 2m)
    #[arg(long, value_name = "TIME", value_parser = duration)]
    keep: Option<Duration>,
    /// Remove the names and command lines of all processes except the command's or --pid's
    #[arg(long)]
    only_focus: bool,
    /// Mark each call of the function SYMBOL in the program or library FILE, or each hit of FILE:usdt:PROVIDER:PROBE; can be repeated
    #[arg(long, value_name = "NAME=FILE:SYMBOL")]
    mark: Vec<MarkPoint>,
    /// Record the callchain of each switch-out that blocks, in the kernel and in programs
    #[arg(long)]
    stacks: bool,
    /// Follow frame pointers only in callchains: read no unwind tables of programs
    #[arg(long)]
    no_unwind: bool,
    /// Leave out what threads wait for: files, connections, children, and locks with their holders, which are read from programs' memory
    #[arg(long)]
    no_wait_objects: bool,
    /// Sample what each CPU runs, with callchains, HZ times a second [default: 99; 997 if no number is given]
    #[arg(long, value_name = "HZ", num_args = 0..=1, default_missing_value = "997", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    sample: Option<u32>,
    /// Count events of the CPUs at every switch: `default`, another group or a list, as `corewise counters` explains
    #[arg(long, value_name = "LIST")]
    counters: Option<String>,
    /// Take no samples
    #[arg(long, conflicts_with = "sample")]
    no_sample: bool,
    /// Read energy and temperature HZ times a second [default: 10, if that costs less than 0.1 % of a CPU]
    #[arg(long, value_name = "HZ", num_args = 0..=1, default_missing_value = "10", require_equals = true, value_parser = hertz)]
    power: Option<Duration>,
    /// Read neither energy nor temperature
    #[arg(long, conflicts_with = "power")]
    no_power: bool,
    /// The machine's files from which energy is read, for tests
    #[arg(long, value_name = "DIR", default_value = "/", hide = true)]
    power_root: PathBuf,
    /// Bind the command and all that it starts to CPUs: P (of the fastest cores), E (of the slowest), no-siblings (one of each core), or a list such as 0-3,8
    #[arg(long, value_name = "CPUS", value_parser = CpuChoice::parse, conflicts_with_all = ["pid", "all"])]
    cores: Option<CpuChoice>,
    /// A label to keep with the recording, such as os=new; may be repeated. `corewise sql` groups recordings by them
    #[arg(long, value_name = "KEY=VALUE", value_parser = label)]
    label: Vec<(String, String)>,
    /// Recording backend; auto: BPF if available, else perf events
    #[arg(long, default_value = "auto")]
    backend: By,
    /// Let all users of this machine read the folder [default: only you; folder 0700, files 0600]
    #[arg(long)]
    shared: bool,
    /// Keep the raw events in DIR/spool after conversion
    #[arg(long)]
    keep_spool: bool,
    /// The command to run, with its arguments, after corewise's own options; the recording ends when it and its children have ended
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// Reads a rate, `10` or `10Hz`, as the time between two readings.
fn hertz(text: &str) -> Result<Duration, String> {
    let number = text.trim_end_matches("Hz").trim_end();
    let hz = number.parse().ok().filter(|hz: &f64| (MIN_HZ..=MAX_HZ).contains(hz));
    let hz = hz.ok_or_else(|| format!("expected a rate from {MIN_HZ} to {MAX_HZ} Hz, such as 10Hz"))?;
    Ok(Duration::from_secs_f64(1.0 / hz))
}

/// The range of rates at which energy is read. Counters are updated about 1000 times a second.
const MIN_HZ: f64 = 0.01;
const MAX_HZ: f64 = 1000.0;

#[derive(Clone, Copy, Debug, ValueEnum)]
enum By {
    Auto,
    Bpf,
    Perf,
}

/// Runs the command.
///
/// # Errors
/// Recording is not permitted or failed.
pub fn run(args: Args, global: &Global) -> Result<u8, Failure> {
    let mut options = RecordOptions::new(args.output.unwrap_or_else(|| folder_name::new("corewise")));
    if args.only_focus && args.pid.is_none() && args.command.is_empty() {
        return Err(Failure::usage("--only-focus needs a process: add --pid PID or -- COMMAND"));
    }
    if let [folder, dashes, command @ ..] = args.command.as_slice()
        && dashes == "--"
        && !command.is_empty()
    {
        let command = command.join(" ");
        return Err(Failure::usage(format!(
            "{folder} is in the place of the command; the trace folder is named with -o: corewise record -o {folder} -- {command}"
        )));
    }
    if let Some(choice) = &args.cores {
        if args.command.is_empty() {
            return Err(Failure::usage("--cores binds a command: add -- COMMAND"));
        }
        if *choice != CpuChoice::All {
            options.cpus = Available::read(global)?.choose(choice)?.cpus;
        }
    }
    options.access = Access::shared(args.shared);
    options.target = match args.pid {
        Some(pid) => Target::Pid(pid),
        None if args.command.is_empty() => Target::All,
        None => Target::Command(args.command),
    };
    options.labels = args.label;
    options.duration = args.duration;
    options.irq = !args.no_irq;
    options.keep = args.keep;
    options.only_focus = args.only_focus;
    options.marks = args.mark;
    options.stacks = args.stacks;
    options.unwind = !args.no_unwind;
    options.wait_objects = !args.no_wait_objects;
    options.sampling = match args.sample {
        Some(hz) => Sampling::Required(hz),
        None if args.no_sample => Sampling::Off,
        None => options.sampling,
    };
    options.energy = match args.power {
        Some(interval) => Energy::Required(interval),
        None if args.no_power => Energy::Off,
        None => options.energy,
    };
    options.energy_root = args.power_root;
    options.backend = match args.backend {
        By::Auto => Backend::Auto,
        By::Bpf => Backend::Bpf,
        By::Perf => Backend::Perf,
    };
    if let Some(text) = &args.counters {
        options.counters = counting::plan_of_recording(text, &engine::live())?;
    }
    // Read the machine file first, so that an error in it does not cost a recording.
    let pass = global.pass_options()?;
    let recorded = record_spool(options)?;
    let accounted = convert(&recorded, args.keep_spool, &pass)?;
    print_summary(&recorded, &accounted);
    Ok(recorded.exit_code.map_or(OK, |code| u8::try_from(code).unwrap_or(u8::MAX)))
}

/// Records into a folder, which then contains a spool.
///
/// # Errors
/// Recording is not permitted or failed.
pub fn record_spool(mut options: RecordOptions) -> Result<Recorded, CaptureError> {
    options.machine = Some(costs::live().0);
    options.build = built::BUILD.to_owned();
    options.arguments = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    // The command follows dashes, whether the user wrote them or not: what reads the arguments finds it.
    if let Target::Command(words) = &options.target
        && options.arguments.ends_with(words)
    {
        let at = options.arguments.len() - words.len();
        if at > 0 && options.arguments[at - 1] != "--" {
            options.arguments.insert(at, "--".to_owned());
        }
    }
    let mut line = Line::new();
    capture::record(&options, &mut |p| {
        line.show(|| {
            let (seconds, mb) = (p.elapsed.as_secs_f64(), p.bytes as f64 / 1e6);
            format!("Recording: {seconds:.0} s, {} {}, {mb:.1} MB, {} lost", p.events, noun(p.events, "event"), p.lost)
        });
    })
}

/// Converts the spool of a recording to a trace folder.
///
/// # Errors
/// It cannot be written.
pub fn convert(recorded: &Recorded, keep_spool: bool, pass: &PassOptions) -> Result<Accounted, Failure> {
    let dir = recorded.folder.path().display();
    Spool::in_folder(recorded.folder.clone())?.convert(keep_spool, pass).map_err(|why| Failure {
        message: format!(
            "{}; the recorded data is complete: run `corewise recover {dir} -o OTHER` to convert it",
            why.message
        ),
        code: INCOMPLETE,
    })
}

fn print_summary(recorded: &Recorded, accounted: &Accounted) {
    let (dir, cost) = (recorded.folder.path().display(), &recorded.cost);
    let why = match recorded.ended {
        Ended::Duration => "duration reached",
        Ended::Target => "target process ended",
        Ended::Stopped => "stopped by the user",
    };
    let wall = recorded.elapsed.as_secs_f64();
    let events = accounted.totals.events;
    say(&format!(
        "{dir}: {events} {} in {wall:.3} s ({why}), {} lost, by {}",
        noun(events, "event"),
        cost.lost,
        recorded.backend
    ));
    let ms = |ns: i64| ns as f64 / 1e6;
    let bpf = cost.bpf_ns.map(|ns| format!(", {:.1} ms in its BPF programs", ms(ns))).unwrap_or_default();
    say(&format!(
        "Recording overhead: {:.1} ms of CPU time ({:.1} ms more before it began){bpf}, {:.1} MB of memory, {:.1} MB spooled",
        ms(cost.recorder_cpu_ns),
        ms(cost.preparing_cpu_ns),
        cost.max_rss_bytes as f64 / 1e6,
        cost.spool_bytes as f64 / 1e6
    ));
    if let Some(energy) = &cost.energy {
        let (times, wakeups) = (energy.readings.unsigned_abs(), energy.wakeups.unsigned_abs());
        say(&format!(
            "Energy: read {times} {}, in {:.1} ms of CPU time and {wakeups} {} of a thread",
            noun(times, "time"),
            ms(energy.cpu_ns),
            noun(wakeups, "wakeup"),
        ));
    }
    for missing in &recorded.lacks {
        say(&format!("note: {missing}"));
    }
    if let (_, Some(note)) = costs::live() {
        say(&format!("note: {note}"));
    }
    say(&format!("next: corewise report {dir}, corewise diagnose {dir}"));
}
