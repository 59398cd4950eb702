//! What recordings of a format tell.

/// Makes [`Capability`] and its lists of one line each.
macro_rules! capabilities {
    ($($(#[$doc:meta])* $capability:ident => $name:literal,)*) => {
        /// Something that recordings of a format may tell.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Capability {
            $($(#[$doc])* $capability,)*
        }

        impl Capability {
            /// All, in the order of the page of formats.
            pub const ALL: &'static [Self] = &[$(Self::$capability,)*];

            /// What it is called there.
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
    /// Which switch from which thread to which, and why.
    Switches => "switches",
    /// `sched_waking`.
    Waking => "waking",
    /// `sched_wakeup`.
    Wakeup => "wakeup",
    /// Which process each thread belongs to.
    Processes => "processes",
    /// Priorities.
    Priority => "priority",
    /// How threads are set to be scheduled: policy, nice, utilisation clamps, cgroup.
    Settings => "settings",
    /// Which CPU is best for a thread, as programs say.
    IdealCpu => "ideal CPU",
    /// Idle states.
    Idle => "idle",
    /// Frequencies.
    Frequency => "frequency",
    /// Which CPUs are parked, or taken from the scheduler, from when to when.
    Parking => "parking",
    /// Interrupts.
    Irq => "interrupts",
    /// What the kernel charged for running.
    Charges => "charges",
    /// Marks and values of programs.
    Marks => "marks",
    /// Frames.
    Frames => "frames",
    /// Callchains.
    Stacks => "stacks",
    /// Calls of `sched_yield`, which tell it from a preemption on the way back to user mode.
    Yields => "yields",
    /// That events were lost.
    Losses => "losses",
    /// The machine: core types, siblings, capacities.
    Topology => "topology",
}

/// Which recordings of a format tell something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tells {
    /// Every one does.
    Yes,
    /// Those that were made so: how.
    If(&'static str),
}

/// What recordings of a format tell, for the page of formats.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Offer {
    /// Which programs write it, and how it is had of them, in a line.
    pub made_by: &'static str,
    /// What they tell; what is not listed, none does.
    pub tells: &'static [(Capability, Tells)],
    /// What corewise therefore cannot say, a sentence each.
    pub cannot: &'static [&'static str],
}

impl Offer {
    /// Which of them tell this; `None`: none does.
    #[must_use]
    pub fn of(&self, capability: Capability) -> Option<Tells> {
        self.tells.iter().find(|(c, _)| *c == capability).map(|(_, tells)| *tells)
    }
}
