//! What recordings of a format provide.

/// Defines [`Capability`] and its lists, one line each.
macro_rules! capabilities {
    ($($(#[$doc:meta])* $capability:ident => $name:literal,)*) => {
        /// Something that recordings of a format may provide.
        ///
        /// ```
        /// use ingest::Capability;
        ///
        /// assert_eq!(Capability::IdealCpu.name(), "ideal CPU");
        /// assert_eq!(Capability::ALL.first(), Some(&Capability::Switches));
        /// ```
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Capability {
            $($(#[$doc])* $capability,)*
        }

        impl Capability {
            /// All capabilities, in the order of the list of formats.
            pub const ALL: &'static [Self] = &[$(Self::$capability,)*];

            /// Returns the name in the list of formats.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$capability => $name,)*
                }
            }
        }
    };
}

capabilities! {
    /// Context switches: the two threads and the cause.
    Switches => "switches",
    /// `sched_waking`.
    Waking => "waking",
    /// `sched_wakeup`.
    Wakeup => "wakeup",
    /// The process of each thread.
    Processes => "processes",
    /// Priorities.
    Priority => "priority",
    /// Scheduling settings of threads: policy, nice, utilisation clamps, cgroup.
    Settings => "settings",
    /// Ideal CPUs of threads, as set by programs.
    IdealCpu => "ideal CPU",
    /// Idle states.
    Idle => "idle",
    /// Frequencies.
    Frequency => "frequency",
    /// When CPUs are parked or offline.
    Parking => "parking",
    /// Interrupts.
    Irq => "interrupts",
    /// The CPU time that the kernel charged.
    Charges => "charges",
    /// Marks and values of programs.
    Marks => "marks",
    /// Frames.
    Frames => "frames",
    /// Callchains.
    Stacks => "stacks",
    /// Calls of `sched_yield`, which distinguish yields from preemptions on the way back to user mode.
    Yields => "yields",
    /// Calls of `futex`, which show for which locks threads wait, and which threads give them back.
    FutexCalls => "futex calls",
    /// Reports of lost events.
    Losses => "losses",
    /// The machine: core types, siblings, capacities.
    Topology => "topology",
}

/// Which recordings of a format provide a capability.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Availability {
    /// All of them.
    Yes,
    /// Those recorded in a certain way: how.
    If(&'static str),
}

/// What recordings of a format provide, for the list of formats.
///
/// ```
/// use ingest::{Availability, Capability, Offer};
///
/// let offer = Offer {
///     made_by: "perf sched script",
///     provides: &[(Capability::Switches, Availability::Yes), (Capability::Stacks, Availability::If("with `-g`"))],
///     cannot: &["Idle states are not recorded."],
/// };
/// assert_eq!(offer.of(Capability::Stacks), Some(Availability::If("with `-g`")));
/// assert_eq!(offer.of(Capability::Idle), None);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Offer {
    /// Which programs write the format, and how, in one line.
    pub made_by: &'static str,
    /// The capabilities; those not listed are never available.
    pub provides: &'static [(Capability, Availability)],
    /// The resulting limitations, a sentence each.
    pub cannot: &'static [&'static str],
}

impl Offer {
    /// Returns which recordings provide this; `None`: none.
    #[must_use]
    pub fn of(&self, capability: Capability) -> Option<Availability> {
        self.provides.iter().find(|(c, _)| *c == capability).map(|(_, availability)| *availability)
    }
}
