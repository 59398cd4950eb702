//! The kernels: a dozen kinds of work that use different parts of a core.

use super::Kernel;
use std::hint::black_box;

/// All kernels. The first is a chain of additions: one cycle each on every processor that corewise knows, which makes it a clock of cycles.
pub const KERNELS: &[Kernel] = &[
    Kernel {
        name: "add",
        about: "a chain of integer additions, one cycle each",
        bytes: 8,
        run: add,
        expected: |_, iterations, seed| seed.wrapping_mul(iterations.wrapping_mul(ADDS) + 1),
        prepare: |_| {},
    },
    Kernel {
        name: "integer",
        about: "four independent chains of integer operations",
        bytes: 8,
        run: integer,
        expected: |_, iterations, seed| {
            // The four chains one after the other.
            (0..4).fold(0, |sum, lane| {
                let last = (0..iterations).fold(seed ^ lane, |x, _| mix(black_box(x)));
                sum ^ last.rotate_left(lane as u32 * 16)
            })
        },
        prepare: |_| {},
    },
    Kernel {
        name: "multiply",
        about: "a chain of integer multiplications",
        bytes: 8,
        run: |_, iterations, seed| (0..iterations).fold(seed, |x, _| black_box(x).wrapping_mul(LCG).wrapping_add(1)),
        expected: |_, iterations, seed| linear(LCG, 1, iterations, seed),
        prepare: |_| {},
    },
    Kernel {
        name: "divide",
        about: "a chain of integer divisions",
        bytes: 8,
        run: |_, iterations, seed| {
            (0..iterations).fold(seed, |x, i| ((u64::MAX - (i & 0xFF)) / ((black_box(x) >> 32) | 1)) ^ x.rotate_left(9))
        },
        expected: |_, iterations, seed| {
            let mut x = seed;
            for i in 0..iterations {
                let divisor = black_box((x >> 32) | 1);
                x = ((u64::MAX - (i % 256)) / divisor) ^ x.rotate_left(9);
            }
            x
        },
        prepare: |_| {},
    },
    Kernel {
        name: "float",
        about: "a chain of floating-point additions and multiplications",
        bytes: 8,
        run: |_, iterations, seed| (0..iterations).fold(start(seed), |x, _| black_box(x) * 0.999_999 + 0.5).to_bits(),
        expected: |_, iterations, seed| {
            let mut x = start(seed);
            for _ in 0..iterations {
                let product = black_box(x * 0.999_999);
                x = product + 0.5;
            }
            x.to_bits()
        },
        prepare: |_| {},
    },
    Kernel {
        name: "vector",
        about: "vectors of floating-point numbers in the first-level cache",
        bytes: 8 << 10,
        run: vector,
        expected: vector_slow,
        prepare: fill,
    },
    Kernel {
        name: "branchy",
        about: "branches that no predictor knows",
        bytes: 8,
        run: branchy,
        expected: |_, iterations, seed| {
            let (mut x, mut sum) = (seed | 1, seed);
            for _ in 0..iterations {
                x = shifted(black_box(x));
                let (odd, even) = (sum.wrapping_mul(3) ^ x, sum.wrapping_add(x) >> 1);
                sum = [even, odd][(x & 1) as usize];
            }
            sum ^ x
        },
        prepare: |_| {},
    },
    Kernel {
        name: "chase_l1",
        about: "a chain of loads in 16 KiB",
        bytes: 16 << 10,
        run: chase,
        expected: chase_slow,
        prepare: ring,
    },
    Kernel {
        name: "chase_l2",
        about: "a chain of loads in 256 KiB",
        bytes: 256 << 10,
        run: chase,
        expected: chase_slow,
        prepare: ring,
    },
    Kernel {
        name: "chase_memory",
        about: "a chain of loads in 64 MiB",
        bytes: 64 << 20,
        run: chase,
        expected: chase_slow,
        prepare: ring,
    },
    Kernel {
        name: "stream",
        about: "a sum over 32 MiB, in order",
        bytes: 32 << 20,
        run: stream,
        expected: stream_slow,
        prepare: fill,
    },
    Kernel {
        name: "mix",
        about: "arithmetic, branches and loads in 64 KiB together",
        bytes: 64 << 10,
        run: mixed,
        expected: mixed_slow,
        prepare: fill,
    },
];

/// A chain of loads in memory of another size.
pub(crate) const fn chase_in(bytes: usize) -> Kernel {
    Kernel { name: "chase", about: "a chain of loads", bytes, run: chase, expected: chase_slow, prepare: ring }
}

/// A sum in order over memory of another size. An iteration is a cache line of 64 bytes.
pub(crate) const fn stream_in(bytes: usize) -> Kernel {
    Kernel { name: "stream", about: "a sum in order", bytes, run: stream, expected: stream_slow, prepare: fill }
}

/// Additions of one iteration of `add`.
pub const ADDS: u64 = 32;

/// The multiplier of Knuth's MMIX generator ("The Art of Computer Programming", 3.3.4).
const LCG: u64 = 6_364_136_223_846_793_005;

/// A chain of additions that no compiler can shorten: `x + iterations * ADDS * x`.
fn add(_: &mut [u64], iterations: u64, seed: u64) -> u64 {
    let mut x = seed;
    for _ in 0..iterations {
        x = adds(x, seed);
    }
    x
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn adds(mut x: u64, step: u64) -> u64 {
    // SAFETY: adds a register to another one; no memory, no stack.
    unsafe {
        core::arch::asm!(
            ".rept 32", "add {x}, {step}", ".endr",
            x = inout(reg) x, step = in(reg) step, options(pure, nomem, nostack)
        );
    }
    x
}

#[cfg(target_arch = "aarch64")]
#[inline]
fn adds(mut x: u64, step: u64) -> u64 {
    // SAFETY: adds a register to another one; no memory, no stack.
    unsafe {
        core::arch::asm!(
            ".rept 32", "add {x}, {x}, {step}", ".endr",
            x = inout(reg) x, step = in(reg) step, options(pure, nomem, nostack)
        );
    }
    x
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[inline]
fn adds(x: u64, step: u64) -> u64 {
    (0..ADDS).fold(x, |x, _| black_box(x).wrapping_add(step))
}

/// `x -> a x + c`, this many times, by squaring the map.
fn linear(a: u64, c: u64, mut times: u64, seed: u64) -> u64 {
    let (mut square, mut all) = ((a, c), (1_u64, 0_u64));
    while times > 0 {
        let then = |f: (u64, u64), g: (u64, u64)| (g.0.wrapping_mul(f.0), g.0.wrapping_mul(f.1).wrapping_add(g.1));
        if times & 1 == 1 {
            all = then(all, square);
        }
        square = then(square, square);
        times >>= 1;
    }
    all.0.wrapping_mul(seed).wrapping_add(all.1)
}

#[inline]
fn mix(x: u64) -> u64 {
    (x ^ (x >> 7)).wrapping_add(x << 3) ^ 0x9E37_79B9_7F4A_7C15
}

fn integer(_: &mut [u64], iterations: u64, seed: u64) -> u64 {
    let mut lanes = [seed, seed ^ 1, seed ^ 2, seed ^ 3];
    for _ in 0..iterations {
        lanes = black_box(lanes.map(mix));
    }
    lanes.iter().zip(0_u32..).fold(0, |sum, (lane, i)| sum ^ lane.rotate_left(i * 16))
}

fn start(seed: u64) -> f64 {
    (seed >> 12) as f64
}

/// Marsaglia's xorshift ("Xorshift RNGs", 2003).
#[inline]
fn shifted(mut x: u64) -> u64 {
    x ^= x << 13;
    x ^= x >> 7;
    x ^ (x << 17)
}

fn branchy(_: &mut [u64], iterations: u64, seed: u64) -> u64 {
    let (mut x, mut sum) = (seed | 1, seed);
    for _ in 0..iterations {
        x = shifted(x);
        // The black boxes keep both sides as branches: a conditional move would not be predicted.
        if x & 1 == 1 {
            sum = black_box(sum).wrapping_mul(3) ^ x;
        } else {
            sum = black_box(sum.wrapping_add(x)) >> 1;
        }
    }
    sum ^ x
}

/// Numbers without a pattern.
fn fill(memory: &mut [u64]) {
    let mut x = 0x1234_5678_9ABC_DEF1;
    for word in memory {
        x = shifted(x);
        *word = x;
    }
}

/// Words of one cache line.
const LINE: usize = 8;

/// A ring through all cache lines in random order (Sattolo's algorithm makes one cycle): word 0 of a line is the place of the next line.
fn ring(memory: &mut [u64]) {
    let lines = memory.len() / LINE;
    let mut order: Vec<usize> = (0..lines).collect();
    let mut random = fastrand::Rng::with_seed(3);
    for i in (1..lines).rev() {
        order.swap(i, random.usize(0..i));
    }
    for (line, next) in order.iter().enumerate() {
        memory[line * LINE] = (next * LINE) as u64;
    }
}

fn chase(memory: &mut [u64], iterations: u64, seed: u64) -> u64 {
    let mut at = first(memory, seed);
    for _ in 0..iterations {
        at = memory[at as usize];
    }
    at ^ (seed << 32)
}

fn first(memory: &[u64], seed: u64) -> u64 {
    (seed as usize % (memory.len() / LINE) * LINE) as u64
}

fn chase_slow(memory: &mut [u64], iterations: u64, seed: u64) -> u64 {
    // Around the ring as often as it is whole, then the rest.
    let mut length = 1;
    let begin = first(memory, seed);
    let mut at = memory[begin as usize];
    while at != begin {
        at = memory[at as usize];
        length += 1;
    }
    (0..iterations % length).fold(begin, |at, _| memory[black_box(at) as usize]) ^ (seed << 32)
}

fn stream(memory: &mut [u64], iterations: u64, seed: u64) -> u64 {
    let (mut at, mut left, mut sum) = (first(memory, seed) as usize, iterations as usize * LINE, seed);
    while left > 0 {
        let part = black_box(&memory[at..memory.len().min(at + left)]);
        sum = part.iter().fold(sum, |sum, word| sum.wrapping_add(*word));
        left -= part.len();
        at = 0;
    }
    sum
}

fn stream_slow(memory: &mut [u64], iterations: u64, seed: u64) -> u64 {
    let from = first(memory, seed) as usize;
    (from..from + iterations as usize * LINE).fold(seed, |sum, i| sum.wrapping_add(black_box(memory[i % memory.len()])))
}

fn numbers(memory: &[u64]) -> impl Iterator<Item = f32> {
    memory.iter().map(|word| (word >> 44) as f32)
}

fn vector(memory: &mut [u64], iterations: u64, seed: u64) -> u64 {
    const LANES: usize = 16;
    let values: Vec<f32> = numbers(memory).collect();
    let mut lanes = [(seed >> 44) as f32; LANES];
    for i in 0..iterations as usize {
        let at = i * LANES % values.len();
        let part = &black_box(&values)[at..at + LANES];
        for (lane, value) in lanes.iter_mut().zip(part) {
            *lane = *lane * 0.5 + *value;
        }
    }
    lanes.iter().fold(0_u64, |sum, lane| sum.rotate_left(7) ^ u64::from(lane.to_bits())) ^ seed
}

fn vector_slow(memory: &mut [u64], iterations: u64, seed: u64) -> u64 {
    let values: Vec<f32> = numbers(memory).collect();
    let mut sum = 0_u64;
    for lane in 0..16 {
        let mut x = (seed >> 44) as f32;
        for i in 0..iterations as usize {
            x = black_box(x * 0.5) + values[(i * 16 + lane) % values.len()];
        }
        sum = sum.rotate_left(7) ^ u64::from(x.to_bits());
    }
    sum ^ seed
}

fn mixed(memory: &mut [u64], iterations: u64, seed: u64) -> u64 {
    let (mut x, mut sum) = (seed | 1, seed as f64);
    for _ in 0..iterations {
        x = shifted(x);
        let word = memory[x as usize % memory.len()];
        if word & 3 == 0 {
            sum = black_box(sum) * 0.5 + (word >> 40) as f64;
        } else {
            x = black_box(x.wrapping_add(word));
        }
        x |= 1;
    }
    sum.to_bits() ^ x
}

fn mixed_slow(memory: &mut [u64], iterations: u64, seed: u64) -> u64 {
    let (mut x, mut sum) = (seed | 1, seed as f64);
    let mut done = 0;
    while done < iterations {
        let next = shifted(black_box(x));
        let word = memory[(next % memory.len() as u64) as usize];
        x = match word % 4 {
            0 => {
                let half = black_box(sum * 0.5);
                sum = half + (word >> 40) as f64;
                next
            }
            _ => next.wrapping_add(word),
        } | 1;
        done += 1;
    }
    sum.to_bits() ^ x
}
