//! Tables of energy and temperature.

use super::columns::{Celsius, Count, End, Joules, Ns, Start, Watts, Word};
use crate::column::table;

table! {
    /// Energy of each domain.
    ENERGY: energy {
        version: 1,
        made_from: Analysis,
        large: false,
        doc: "What each source of energy used. Domains are not added up: `core` and `uncore` are parts of their package, and packages are \
              parts of the platform. There is no figure if the time is too short for the step of the source: the range would be \
              wider than 10 % on one side.",
        key: [DOMAIN],
        columns: {
            DOMAIN: Word = "Its name, such as `package-0` or `BAT0`.",
            PART: Option<Word> = "`platform`, `package`, `core`, `uncore`, `dram`, `battery`, `sensor` or `other`.",
            PARENT: Option<Word> = "The domain that contains it; null if there is none.",
            SAME_AS: Option<Word> = "The domain that is the same by another reading, never to be summed with it; null if there is none.",
            SOURCE: Option<Word> = "How it was read.",
            JOULES: Option<Joules> = "Energy of the known time; null if no figure can be given.",
            LOW_J: Option<Joules> = "The least energy that agrees with the readings.",
            HIGH_J: Option<Joules> = "The greatest energy that agrees with the readings.",
            WATTS: Option<Watts> = "Mean power of the known time.",
            KNOWN_NS: Ns = "Time for which its energy is known.",
            UNKNOWN_NS: Ns = "The other time. It is not counted as 0.",
            READINGS: Count = "Number of readings with an interval before them.",
            UPDATE_NS: Option<Ns> = "Time between two updates of its value; null if not measured.",
            DOUBT: Option<Word> = "Why there is no figure, or why its energy is unknown for a part of the time.",
        }
    }
}

table! {
    /// Times for which energy is unknown.
    ENERGY_UNKNOWN: energy_unknown {
        version: 1,
        made_from: Analysis,
        large: false,
        doc: "When the energy of a source is unknown although it was read, and why: it could not be read, its counter went back, or it \
              stopped. This time is not part of the figures of the table `energy`.",
        key: [DOMAIN, START_NS],
        columns: {
            DOMAIN: Word = "Its name, as in the table `energy`.",
            START_NS: Start,
            END_NS: End,
            REASON: Word = "Why its energy is unknown.",
        }
    }
}

table! {
    /// Power of each domain over time.
    POWER_OVER_TIME: power_over_time {
        version: 1,
        made_from: Analysis,
        large: true,
        doc: "The power of each source of energy, from reading to reading, over at least a second. A source whose values are updated less \
              often has rows as long as needed: they end when its value changes.",
        key: [DOMAIN, START_NS],
        columns: {
            DOMAIN: Word = "Its name, as in the table `energy`.",
            START_NS: Start,
            END_NS: End,
            JOULES: Option<Joules> = "Energy of the known time; null if no figure can be given.",
            WATTS: Option<Watts> = "Mean power of the known time.",
            KNOWN_NS: Ns = "Time for which its energy is known.",
            DOUBT: Option<Word> = "Why there is no figure, or why its energy is unknown for a part of the time.",
        }
    }
}

table! {
    /// Temperature of each sensor.
    TEMPERATURES: temperatures {
        version: 1,
        made_from: Analysis,
        large: false,
        doc: "The temperature of each sensor. Each reading weighs the same.",
        key: [ZONE],
        columns: {
            ZONE: Word = "The sensor: the type of a thermal zone, or the chip and the label of hwmon.",
            MIN_C: Celsius = "The least temperature.",
            MEAN_C: Celsius = "The mean of the readings.",
            MAX_C: Celsius = "The greatest temperature.",
            READINGS: Count = "Number of readings.",
        }
    }
}
