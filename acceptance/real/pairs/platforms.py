"""Programs as users write them in Java, Rust, Go, Erlang and R: pools, streams, locks, barriers, channels, collectors and priorities.

The fifth set, from an author who writes no rules and has not read them in the code, only docs/rules.md. Meant to develop rules on.
"""

from bed import Healthy, Pair

PAIRS = []


def script(name, source):
    return f"cat > {name} <<'END'\n{source.strip()}\nEND\n"


def java(name, source):
    return script(f"{name}.java", source) + f"javac -d . {name}.java\n"


def rust(name, crates, source):
    """Commands that build a program of crates, which are compiled once for all pairs."""
    cargo = f'[package]\nname = "{name}"\nversion = "0.1.0"\nedition = "2021"\n[dependencies]\n{crates}'
    return (f"mkdir -p src\n{script('Cargo.toml', cargo)}{script('src/main.rs', source)}"
            f"CARGO_TARGET_DIR=$WORK/rust cargo build -q --release\ncp $WORK/rust/release/{name} .\n")


def go(name, source):
    return script("main.go", source) + script("go.mod", f"module {name}\ngo 1.21") + f"go build -o {name} .\n"


# Java

JDK = dict(software="OpenJDK 17 (Debian)", apt=["openjdk-17-jdk-headless"])

CHECKS = java("Checks", """
import java.security.MessageDigest;
import java.util.concurrent.*;

/** Checks pictures by a pool of up to eight threads, which a queue without a limit never lets grow beyond its core size. */
class Checks {
    public static void main(String[] args) throws Exception {
        int core = Integer.parseInt(args[0]);
        var pool = new ThreadPoolExecutor(core, 8, 60, TimeUnit.SECONDS, new LinkedBlockingQueue<>());
        byte[] picture = new byte[8_000_000];
        for (int n = 0; n < 600; n++)
            pool.submit(() -> MessageDigest.getInstance("SHA-1").digest(picture));
        pool.shutdown();
        pool.awaitTermination(1, TimeUnit.HOURS);
    }
}
""")

ORDERS = java("Orders", """
import java.util.*;
import java.util.stream.*;

/** Prices orders that an iterator gives, which is how a data base driver gives its rows. */
class Orders {
    static double price(int order) {
        double sum = order;
        for (int n = 0; n < 150_000; n++) sum += Math.sin(sum + n);
        return sum;
    }

    public static void main(String[] args) {
        List<Integer> orders = IntStream.range(0, 1300).boxed().collect(Collectors.toList());
        Stream<Integer> stream = args[0].equals("iterator")
            ? StreamSupport.stream(Spliterators.spliteratorUnknownSize(orders.iterator(), 0), true) : orders.parallelStream();
        System.out.println(stream.mapToDouble(Orders::price).sum());
    }
}
""")

IMPORT = java("Import", """
import java.util.*;

/** Imports orders in batches, and tidies up after each of them. */
class Import {
    public static void main(String[] args) {
        var customers = new HashMap<Integer, String>();
        for (int n = 0; n < 400_000; n++) customers.put(n, "customer number " + n);
        long length = 0;
        for (int batch = 0; batch < 60; batch++) {
            for (int n = 0; n < 60_000; n++)
                length += String.join(";", customers.get(n * 7 % 400_000), "order", Integer.toString(n)).length();
            System.gc();
        }
        System.out.println(length);
    }
}
""")

NOTIFY = java("Notify", """
import java.util.*;

/** Workers wait for jobs at one monitor; the main thread waits for the answer to each. */
class Notify {
    static final ArrayDeque<Integer> jobs = new ArrayDeque<>();
    static final Object answer = new Object();
    static int answered;

    static void work() {
        try {
            for (;;) {
                int job;
                synchronized (jobs) {
                    while (jobs.isEmpty()) jobs.wait();
                    job = jobs.poll();
                }
                if (job < 0) return;
                synchronized (answer) {
                    answered++;
                    answer.notify();
                }
            }
        } catch (InterruptedException e) {
            return;
        }
    }

    public static void main(String[] args) throws Exception {
        boolean all = args[0].equals("all");
        int workers = 24;
        for (int n = 0; n < workers; n++) new Thread(Notify::work, "worker-" + n).start();
        for (int n = 0; n < 100_000; n++) {
            synchronized (jobs) {
                jobs.add(n);
                if (all) jobs.notifyAll(); else jobs.notify();
            }
            synchronized (answer) {
                while (answered <= n) answer.wait();
            }
        }
        synchronized (jobs) {
            for (int n = 0; n < workers; n++) jobs.add(-1);
            jobs.notifyAll();
        }
    }
}
""")

PAIRS += [
    Pair(
        name="java-core-pool-of-one", rules=["too-few-workers"], threads="^pool-1", prepare=CHECKS, **JDK,
        fault="A ThreadPoolExecutor of one to eight threads with a LinkedBlockingQueue never starts a second thread, as the queue is never full: "
              "one thread works while a CPU is idle; fixed: a core size of two.",
        bad="java -XX:+UseSerialGC -cp . Checks 1", good="java -XX:+UseSerialGC -cp . Checks 2",
    ),
    Pair(
        name="java-stream-of-iterator", rules=["chunks-too-large", "static-partition-barrier-tail", "too-few-workers"], prepare=ORDERS, **JDK,
        threads="^(java|ForkJoinPool|main)",
        fault="A parallel stream of an iterator is split in batches of 1024 and more elements: of 1300 orders one thread gets 1024, the other 276, "
              "and then waits; fixed: parallelStream of the list.",
        bad="java -XX:+UseSerialGC -cp . Orders iterator", good="java -XX:+UseSerialGC -cp . Orders list",
    ),
    Pair(
        name="java-explicit-gc", rules=["collector-pause"], threads="VM Thread|GC", prepare=IMPORT, **JDK,
        fault="System.gc() after each batch makes the VM Thread collect all customers while the main thread waits; fixed: -XX:+DisableExplicitGC.",
        bad="java -XX:+UseSerialGC -Xms512m -Xmx512m -cp . Import",
        good="java -XX:+UseSerialGC -Xms512m -Xmx512m -XX:+DisableExplicitGC -cp . Import",
    ),
    Pair(
        name="java-notify-all", rules=["wakeup-storm", "worker-pool-larger-than-useful", "lock-convoy"], threads="^worker", prepare=NOTIFY, **JDK,
        fault="notifyAll wakes all 24 workers for each job: one takes it, and the others find nothing and wait again; fixed: notify.",
        bad="java -XX:+UseSerialGC -cp . Notify all", good="java -XX:+UseSerialGC -cp . Notify one",
    ),
]

# Rust

RUST = "Rust 1.95, {} (crates.io)"

FAIR = rust("tally", 'parking_lot = "0.12"\n', """
use std::collections::HashMap;
use std::thread;

/// Counts words in one map, whose mutex is of parking_lot: fair, so that it is handed to the thread that waits longest, or not.
macro_rules! tally {
    ($mutex:ty) => {{
        let counts = <$mutex>::new(HashMap::<u64, u64>::new());
        thread::scope(|scope| {
            for t in 0..4u64 {
                let counts = &counts;
                scope.spawn(move || {
                    let mut word = t + 1;
                    for _ in 0..60_000 {
                        for _ in 0..20 {
                            word = word.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                        }
                        let mut counts = counts.lock();
                        for n in 0..60 {
                            *counts.entry((word >> 50) + n).or_default() += 1;
                        }
                    }
                });
            }
        });
        println!("{}", counts.lock().len());
    }};
}

fn main() {
    if std::env::args().nth(1).as_deref() == Some("fair") {
        tally!(parking_lot::FairMutex<_>)
    } else {
        tally!(parking_lot::Mutex<_>)
    }
}
""")

HEAT = rust("heat", 'spin = "0.9"\n', """
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

const THREADS: usize = 4;
const WIDTH: usize = 4000;

/// Heat in a rod: each of the threads has a quarter of it, and waits for the others after each step.
macro_rules! heat {
    ($barrier:ty, $steps:expr) => {{
        let rods: Vec<Vec<AtomicU64>> = (0..2).map(|_| (0..WIDTH).map(|x| AtomicU64::new(((x % 97) as f64).to_bits())).collect()).collect();
        let barrier = <$barrier>::new(THREADS);
        std::thread::scope(|scope| {
            for t in 0..THREADS {
                let (rods, barrier) = (&rods, &barrier);
                scope.spawn(move || {
                    for step in 0..$steps {
                        let (from, to) = (&rods[step % 2], &rods[(step + 1) % 2]);
                        let at = |x: usize| f64::from_bits(from[x].load(Relaxed));
                        for x in (t * WIDTH / THREADS).max(1)..((t + 1) * WIDTH / THREADS).min(WIDTH - 1) {
                            let mut heat = at(x - 1) * 0.3 + at(x) * 0.4 + at(x + 1) * 0.3;
                            for _ in 0..150 {
                                heat = heat.sqrt() * heat.sqrt();
                            }
                            to[x].store(heat.to_bits(), Relaxed);
                        }
                        barrier.wait();
                    }
                });
            }
        });
        println!("{}", f64::from_bits(rods[0][WIDTH / 2].load(Relaxed)));
    }};
}

fn main() {
    let steps: usize = std::env::args().nth(2).unwrap().parse().unwrap();
    if std::env::args().nth(1).as_deref() == Some("spin") {
        heat!(spin::Barrier, steps)
    } else {
        heat!(std::sync::Barrier, steps)
    }
}
""")

HASHES = rust("hashes", 'rayon = "1"\ncore_affinity = "0.8"\nsha2 = "0.10"\n', """
use rayon::prelude::*;
use sha2::{Digest, Sha512};

/// Hashes parts of a file; the main thread is bound to the first CPU, where it would read the parts.
fn main() {
    let first = core_affinity::get_core_ids().unwrap()[0];
    let early = std::env::args().nth(1).as_deref() == Some("early");
    if early {
        core_affinity::set_for_current(first);
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).thread_name(|n| format!("hash-{n}")).build().unwrap();
    if !early {
        core_affinity::set_for_current(first);
    }
    let part = vec![7u8; 1 << 20];
    let sum: u64 = pool.install(|| (0..2500).into_par_iter().map(|_| Sha512::digest(&part)[0] as u64).sum());
    println!("{sum}");
}
""")

ROWS = rust("blur", 'rayon = "1"\n', """
use rayon::prelude::*;

/// Blurs pictures, in parallel by pixels of a row or by rows.
fn pixel(row: &[f32], x: usize) -> f32 {
    let mut sum = 0.0;
    for k in 0..30 {
        sum += row[(x + k) % row.len()].sqrt();
    }
    sum / 30.0
}

fn main() {
    let by_row = std::env::args().nth(1).as_deref() == Some("rows");
    let (width, height) = (64, 20_000);
    let picture: Vec<f32> = (0..width * height).map(|n| (n % 255) as f32).collect();
    let mut blurred = vec![0.0; width * height];
    for _ in 0..8 {
        if by_row {
            blurred.par_chunks_mut(width).zip(picture.par_chunks(width)).for_each(|(to, from)| {
                to.iter_mut().enumerate().for_each(|(x, to)| *to = pixel(from, x));
            });
        } else {
            blurred.chunks_mut(width).zip(picture.chunks(width)).for_each(|(to, from)| {
                to.par_iter_mut().enumerate().for_each(|(x, to)| *to = pixel(from, x));
            });
        }
    }
    println!("{}", blurred[1000]);
}
""")

MIXER = rust("mixer", 'thread-priority = "1"\nrayon = "1"\n', """
use std::time::{Duration, Instant};
use thread_priority::unix::*;
use thread_priority::*;

fn work(count: u64) -> u64 {
    (0..count).fold(1, |sum: u64, n| std::hint::black_box(sum.wrapping_mul(31) ^ n))
}

/// A thread mixes sound each 5 ms, while a pool of four encodes a video.
fn main() {
    let urgent = std::env::args().nth(1).as_deref() == Some("fifo");
    let encoders = rayon::ThreadPoolBuilder::new().num_threads(4).thread_name(|n| format!("encoder-{n}")).build().unwrap();
    for _ in 0..4 {
        encoders.spawn(|| loop {
            work(1_000_000);
        });
    }
    let mixer = std::thread::Builder::new().name("mixer".into()).spawn(move || {
        if urgent {
            let policy = ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::Fifo);
            let priority = ThreadPriority::Crossplatform(40u8.try_into().unwrap());
            set_thread_priority_and_policy(thread_native_id(), priority, policy).unwrap();
        }
        let (period, begin, count) = (Duration::from_millis(5), Instant::now(), 400);
        let mut late = Duration::ZERO;
        for n in 1..=count {
            let due = begin + period * n;
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            work(700_000);
            late += due.elapsed();
        }
        println!("response {} us", late.as_micros() / count as u128);
    });
    mixer.unwrap().join().unwrap();
}
""")

INDEX = rust("index", 'libc = "0.2"\nrayon = "1"\n', """
use std::collections::BTreeMap;
use std::sync::RwLock;
use std::time::{Duration, Instant};

static INDEX: RwLock<BTreeMap<u64, u64>> = RwLock::new(BTreeMap::new());

/// The main thread adds an entry each 20 ms, while a snapshot of the index is taken again and again and a pool resizes pictures.
fn main() {
    let nice: i32 = std::env::args().nth(1).unwrap().parse().unwrap();
    INDEX.write().unwrap().extend((0..700_000u64).map(|n| (n * 7919, n)));
    std::thread::Builder::new().name("snapshot".into()).spawn(move || {
        unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, nice) };
        loop {
            let sum = INDEX.read().unwrap().values().fold(0u64, |sum, n| (0..12).fold(sum ^ n, |sum, k| std::hint::black_box(sum.wrapping_mul(31) ^ k)));
            std::hint::black_box(sum);
            std::thread::sleep(Duration::from_millis(8));
        }
    }).unwrap();
    let resizers = rayon::ThreadPoolBuilder::new().num_threads(4).thread_name(|n| format!("resize-{n}")).build().unwrap();
    for _ in 0..4 {
        resizers.spawn(|| loop {
            std::hint::black_box((0..1_000_000u64).fold(1, |sum: u64, n| std::hint::black_box(sum.wrapping_mul(31) ^ n)));
        });
    }
    let mut late = Duration::ZERO;
    for n in 0..80 {
        std::thread::sleep(Duration::from_millis(20));
        let begin = Instant::now();
        INDEX.write().unwrap().insert(n * 7919 + 1, n);
        late += begin.elapsed();
    }
    println!("mean {} us", late.as_micros() / 80);
}
""")

PAIRS += [
    Pair(
        name="rust-fair-mutex", software=RUST.format("parking_lot"), rules=["lock-convoy", "wakeup-storm"], threads="^tally", prepare=FAIR,
        fault="parking_lot's FairMutex is handed to the thread that waits longest, which must be woken first: four threads queue for it at each word, "
              "one after the other; fixed: Mutex.",
        bad="./tally fair", good="./tally unfair",
    ),
    Pair(
        name="rust-spin-barrier", software=RUST.format("spin"), rules=["busy-wait-at-barrier", "oversubscribed"], threads="^heat", prepare=HEAT,
        fault="Four threads on two CPUs wait at the barrier of the crate spin: those that have arrived keep the CPUs from those that are ready; "
              "fixed: std::sync::Barrier.",
        bad="./heat spin 250", good="./heat block 250",
    ),
    Pair(
        name="rust-pool-inherits-affinity", software=RUST.format("rayon, core_affinity, sha2"), rules=["pinned-to-one-cpu"], threads="^(hash|hashes)",
        prepare=HASHES,
        fault="The main thread is bound to CPU 0 before it starts rayon's pool, whose two threads inherit the affinity and take turns there; "
              "fixed: the pool is started first.",
        bad="./hashes early", good="./hashes late",
    ),
    Pair(
        name="rayon-by-pixel", software=RUST.format("rayon"), rules=["chunks-too-small", "wakeup-storm"], threads="^blur", prepare=ROWS,
        fault="par_iter over the 64 pixels of each row splits some microseconds of work and wakes a thread for them; fixed: in parallel by rows.",
        bad="RAYON_NUM_THREADS=2 ./blur pixels", good="RAYON_NUM_THREADS=2 ./blur rows",
    ),
    Pair(
        name="rust-mixer-among-encoders", software=RUST.format("rayon, thread-priority"), prepare=MIXER, threads="^mixer",
        rules=["periodic-thread-delayed", "critical-thread-same-priority-as-workers"],
        fault="The thread mixer is due each 5 ms, at the same priority as the four encoders of its program: it is ready at its time and waits for a CPU; "
              "fixed: SCHED_FIFO.",
        bad="./mixer fair", good="./mixer fifo", metric=r"response (\d+)", seconds=400e-6,
    ),
    Pair(
        name="rust-snapshot-has-the-lock", software=RUST.format("rayon"), prepare=INDEX, rules=["priority-inversion"], threads="^(index|snapshot)",
        fault="The thread snapshot (nice 10) reads under an RwLock, but is ready while four threads of nice 0 run; the main thread (nice 0) waits to "
              "write; fixed: nice 0.",
        bad="./index 10", good="./index 0", metric=r"mean (\d+)", seconds=80e-6,
    ),
]

# Go, Erlang, R

TRIANGLE = go("pairs", """
package main

import (
	"fmt"
	"math"
	"os"
	"sync"
	"sync/atomic"
)

const points = 4000

// Sums up the distances of all pairs of points in each frame: row n has n pairs. Two goroutines take one half of the rows each, or the next row.
func main() {
	halves := os.Args[1] == "halves"
	var x [points]float64
	for n := range x {
		x[n] = math.Sin(float64(n))
	}
	var sums [2]float64
	for frame := 0; frame < 230; frame++ {
		var group sync.WaitGroup
		var next atomic.Int64
		row := func(worker, n int) {
			sum := 0.0
			for k := 0; k < n; k++ {
				sum += math.Sqrt((x[n]-x[k])*(x[n]-x[k]) + float64(frame))
			}
			sums[worker] += sum
		}
		for worker := 0; worker < 2; worker++ {
			group.Add(1)
			go func(worker int) {
				defer group.Done()
				if halves {
					for n := worker * points / 2; n < (worker+1)*points/2; n++ {
						row(worker, n)
					}
					return
				}
				for n := int(next.Add(1)) - 1; n < points; n = int(next.Add(1)) - 1 {
					row(worker, n)
				}
			}(worker)
		}
		group.Wait()
	}
	fmt.Println(sums[0]+sums[1] > 0)
}
""")

STAGES = go("stages", """
package main

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
)

// Reads lines, parses them with so many goroutines as GOMAXPROCS, and counts words.
func main() {
	lines, words := make(chan string, 16), make(chan map[string]int, 16)
	go func() {
		for n := 0; n < 1800000; n++ {
			lines <- fmt.Sprintf("the order %d of customer %d has %d pieces of article %d", n, n%7919, n%13, n%997)
		}
		close(lines)
	}()
	var group sync.WaitGroup
	for worker := 0; worker < runtime.GOMAXPROCS(0); worker++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for line := range lines {
				counts := map[string]int{}
				for _, word := range strings.Fields(line) {
					counts[word]++
				}
				words <- counts
			}
		}()
	}
	go func() { group.Wait(); close(words) }()
	total := 0
	for counts := range words {
		total += len(counts)
	}
	fmt.Println(total)
}
""")

PRICES = script("prices.erl", """
-module(prices).
-behaviour(gen_server).
-export([main/1, init/1, handle_call/3, handle_cast/2]).

%% Clients ask one server, or one of several, for prices, which it computes.
init(_) -> {ok, none}.
handle_cast(_, State) -> {noreply, State}.
handle_call({price, Order}, _, State) -> {reply, price(Order, 250), State}.

price(Data, 0) -> erlang:crc32(term_to_binary(Data));
price(Data, N) -> price(erlang:md5(term_to_binary({N, Data})), N - 1).

main([Count]) ->
    Servers = list_to_tuple([element(2, gen_server:start(?MODULE, none, [])) || _ <- lists:seq(1, list_to_integer(Count))]),
    Self = self(),
    [spawn(fun() -> client(C, Servers, 9000), Self ! done end) || C <- lists:seq(1, 8)],
    [receive done -> ok end || _ <- lists:seq(1, 8)],
    halt().

client(_, _, 0) -> ok;
client(C, Servers, N) ->
    gen_server:call(element(1 + (C + N) rem tuple_size(Servers), Servers), {price, {C, N}}, infinity),
    client(C, Servers, N - 1).
""") + "erlc prices.erl\n"

GRID = script("grid.R", """
library(parallel)
# Fits a model for each row of a grid, in few or many rounds.
grid <- expand.grid(rounds = c(100, 4000), seed = 1:12)
fit <- function(n) {
  set.seed(grid$seed[n])
  x <- rnorm(2000)
  mean(sapply(seq_len(grid$rounds[n]), function(k) median(sample(x, replace = TRUE))))
}
preschedule <- commandArgs(TRUE)[1] == "preschedule"
fits <- mclapply(seq_len(nrow(grid)), fit, mc.cores = 2, mc.preschedule = preschedule)
cat(sum(unlist(fits)), "\\n")
""")

PAIRS += [
    Pair(
        name="go-half-of-the-rows", software="Go 1.26 and its sync", rules=["static-partition-barrier-tail"], threads="^pairs", prepare=TRIANGLE,
        fault="Two goroutines take one half of the rows each; row n has n pairs, so one of them has three times as much and the other waits; "
              "fixed: each takes the next row.",
        bad="./pairs halves", good="./pairs next",
    ),
    Pair(
        name="go-64-procs", software="Go 1.26", rules=["oversubscribed", "worker-pool-larger-than-useful", "wakeup-storm", "lock-convoy"],
        threads="^stages", prepare=STAGES,
        fault="GOMAXPROCS is 64, as on the host, but the container has two CPUs: 64 threads wake one another for lines and wait for CPUs.",
        bad="GOMAXPROCS=64 ./stages", good="GOMAXPROCS=2 ./stages",
    ),
    Pair(
        name="erlang-one-server", software="Erlang 25 (Debian)", apt=["erlang-base"], rules=["single-server", "global-lock", "too-few-workers"],
        threads="sched|beam", prepare=PRICES,
        fault="Eight processes of Erlang wait for one gen_server, which one scheduler at a time runs, while a CPU is idle; fixed: two servers.",
        bad="erl -noshell -run prices main 1", good="erl -noshell -run prices main 2",
    ),
    Pair(
        name="r-mclapply-prescheduled", software="R 4.2 and its parallel (Debian)", apt=["r-base-core"], threads="^(R|Rscript)", prepare=GRID,
        rules=["static-partition-barrier-tail", "chunks-too-large", "too-few-workers"],
        fault="mclapply with mc.preschedule gives each of two processes every second row of the grid: one has all of the rows with many rounds, "
              "and the other is done early; fixed: mc.preschedule = FALSE.",
        bad="Rscript grid.R preschedule", good="Rscript grid.R dynamic",
    ),
    Healthy(name="java-parallel-stream", good="java -XX:+UseSerialGC -cp . Orders list", prepare=ORDERS, **JDK),
    Healthy(name="go-two-procs", software="Go 1.26", good="GOMAXPROCS=2 ./stages", prepare=STAGES),
    Healthy(name="erlang-two-servers", software="Erlang 25 (Debian)", apt=["erlang-base"], good="erl -noshell -run prices main 2", prepare=PRICES),
]
