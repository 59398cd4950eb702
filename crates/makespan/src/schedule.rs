//! A parallel loop, and how schedules divide its work into chunks.

/// How a loop's iterations get to its threads. There is one thread per core, which begins on its own core.
///
/// Threads that are not bound can be moved: when a core has no work and a slower core has, the operating system moves the thread of
/// the slowest busy core to it. A bound thread stays, so a fast core that is done stays idle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Schedule {
    /// One equal block per thread, each thread bound to its core.
    Affinity,
    /// One equal block per thread, threads not bound (OpenMP's `static`).
    Static,
    /// This many equal chunks in one queue; a thread that is done takes the next (OpenMP's `dynamic` with iterations / chunks per
    /// chunk). Threads are not bound.
    Dynamic(usize),
    /// The next chunk is the remaining work / the number of threads, but at least the whole work / this number (OpenMP's `guided`;
    /// C. D. Polychronopoulos and D. J. Kuck, "Guided self-scheduling", IEEE Transactions on Computers 36, 1987). Threads are
    /// not bound.
    Guided(usize),
    /// This many equal chunks, divided among the threads in advance. A thread that is done with its own takes half, rounded up, of
    /// those that wait at the thread that has most (R. D. Blumofe and C. E. Leiserson, "Scheduling multithreaded computations by
    /// work stealing", Journal of the ACM 46, 1999, with a chosen instead of a random victim). Threads are not bound.
    Stealing(usize),
}

impl Schedule {
    /// Whether threads stay on their cores.
    #[must_use]
    pub fn is_bound(self) -> bool {
        self == Self::Affinity
    }

    /// The number of chunks on so many cores; the largest possible number for `Guided`, whose chunks are at least of the stated size.
    #[must_use]
    pub fn max_chunks(self, cores: usize) -> usize {
        match self {
            Self::Affinity | Self::Static => cores,
            Self::Dynamic(chunks) | Self::Guided(chunks) | Self::Stealing(chunks) => chunks,
        }
    }
}

/// A parallel loop of many equal iterations, so that its work can be divided at will.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Loop {
    /// The total work: the time that one core of speed 1 needs.
    pub work: f64,
    /// The time to get a chunk, on a core of any speed.
    pub chunk_cost: f64,
    /// The time for which a moved thread does not advance.
    pub move_cost: f64,
}

/// Why a loop cannot be simulated or fitted.
#[derive(Debug, Clone, Copy, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum ModelError {
    /// There are no cores, or a speed is not a positive number.
    #[error("every core needs a speed above 0, and there must be a core")]
    Speeds,
    /// Work or a cost is negative or not a number.
    #[error("the work and its costs must be numbers of at least 0")]
    Work,
    /// There are no chunks, or more than the maximum.
    #[error("the number of chunks must be between 1 and {0}")]
    Chunks(usize),
    /// Measured times from which nothing can be fitted.
    #[error("the times must be above 0, and the free schedule must be no slower than the bound one")]
    Times,
}

/// The maximum number of chunks: a simulation stays within seconds.
pub(crate) const MAX_CHUNKS: usize = 1 << 20;

/// The work that waits for threads.
pub(crate) enum Supply {
    /// One queue: the work of each chunk, the number of chunks that are left.
    Equal { chunk: f64, left: usize },
    /// A queue from which each chunk takes its share.
    Guided { left: f64, smallest: f64, threads: f64 },
    /// A queue per thread: the work of each chunk, the chunks of each.
    Own { chunk: f64, left: Vec<usize> },
}

impl Supply {
    pub(crate) fn of(schedule: Schedule, work: f64, cores: usize) -> Result<Self, ModelError> {
        let chunks = schedule.max_chunks(cores);
        if chunks == 0 || chunks > MAX_CHUNKS {
            return Err(ModelError::Chunks(MAX_CHUNKS));
        }
        let chunk = work / chunks as f64;
        Ok(match schedule {
            Schedule::Affinity | Schedule::Static | Schedule::Dynamic(_) => Self::Equal { chunk, left: chunks },
            Schedule::Guided(_) => Self::Guided { left: work, smallest: chunk, threads: cores as f64 },
            Schedule::Stealing(_) => {
                let (each, more) = (chunks / cores, chunks % cores);
                Self::Own { chunk, left: (0..cores).map(|thread| each + usize::from(thread < more)).collect() }
            }
        })
    }

    /// The work of the next chunk of a thread; `None`: there is no more work for it.
    pub(crate) fn next(&mut self, thread: usize) -> Option<f64> {
        match self {
            Self::Equal { chunk, left } => {
                *left = left.checked_sub(1)?;
                Some(*chunk)
            }
            Self::Guided { left, smallest, threads } => {
                if *left <= 0.0 {
                    return None;
                }
                let mut chunk = (*left / *threads).max(*smallest).min(*left);
                // What rounding leaves of the work is no chunk of its own.
                if *left - chunk <= *smallest * 1e-9 {
                    chunk = *left;
                }
                *left -= chunk;
                Some(chunk)
            }
            Self::Own { chunk, left } => {
                if left.get(thread).is_none_or(|own| *own == 0) {
                    let victim = (0..left.len()).rev().max_by_key(|other| left[*other])?;
                    let stolen = left[victim].div_ceil(2);
                    left[victim] -= stolen;
                    *left.get_mut(thread)? += stolen;
                }
                let own = left.get_mut(thread)?;
                *own = own.checked_sub(1)?;
                Some(*chunk)
            }
        }
    }
}
