//! Laws of meters and estimates, over drawn readings.

use model::{Ns, Span};
use power::{Interval, Meter, Reading, Refused, Spec, Unknown, Value, estimate};
use proptest::prelude::*;

const MS: i64 = 1_000_000;
/// 2^32 units of 2^-14 J, as powercap shows it.
const RANGE_UJ: f64 = 262_143_328_850.0;

fn spec() -> Spec {
    Spec { range_uj: Some(RANGE_UJ), max_power_w: 2000.0, update_ns: Some(MS) }
}

fn meter_of(values: &[f64], every: i64) -> (Meter, Vec<Interval>) {
    let mut meter = Meter::new(spec());
    let readings = values.iter().zip(0..).map(|(uj, n)| Reading { at: Ns(n * every), value: Ok(Value::Used(*uj)) });
    let intervals = readings.filter_map(|reading| meter.push(reading)).collect();
    (meter, intervals)
}

fn sum(intervals: &[Interval]) -> f64 {
    intervals.iter().map(|interval| interval.energy.as_ref().unwrap().uj).sum()
}

proptest! {
    #[test]
    fn the_energy_of_the_intervals_is_that_of_the_whole_wherever_the_counter_wraps(
        steps in prop::collection::vec(0_u32..10_000_000, 1..60),
        before_wrap in 0_u64..300_000_000,
    ) {
        // Energy that a counter of this range shows, from a begin shortly before its end.
        let begin = RANGE_UJ - before_wrap as f64;
        let mut total = 0.0;
        let mut values = vec![begin];
        for step in &steps {
            total += f64::from(*step);
            let at = begin + total;
            values.push(if at >= RANGE_UJ { at - RANGE_UJ } else { at });
        }
        let (meter, intervals) = meter_of(&values, 100 * MS);
        prop_assert_eq!(sum(&intervals), total);
        prop_assert_eq!(meter.wraps(), u64::from(total >= before_wrap as f64));
        // Fewer readings give the same.
        let (_, whole) = meter_of(&[values[0], *values.last().unwrap()], 100 * MS * steps.len() as i64);
        prop_assert_eq!(sum(&whole), total);
    }

    #[test]
    fn energy_is_never_negative_and_never_more_than_possible(values in prop::collection::vec(0.0..RANGE_UJ, 2..40)) {
        let (_, intervals) = meter_of(&values, 100 * MS);
        for interval in &intervals {
            if let Ok(energy) = &interval.energy {
                prop_assert!(energy.low >= 0.0 && energy.low <= energy.uj && energy.uj <= energy.high);
                prop_assert!(energy.uj <= 2000.0 * 101.0 * 1e3, "{:?}", energy);
            }
        }
    }

    #[test]
    fn a_range_has_the_true_energy_of_constant_power(
        watts in 1.0..200.0_f64, head in 0..5 * MS, tail in 0..5 * MS, length in 200..20_000_i64,
    ) {
        // The counter is updated each ms, and read just after an update.
        let every = 50 * MS;
        let count = length / 50 + 1;
        let values: Vec<f64> = (0..=count).map(|n| (watts * (n * every) as f64 * 1e-3).floor()).collect();
        let (meter, intervals) = meter_of(&values, every);
        let span = Span::new(Ns(head), Ns(count * every - tail));
        let truth = watts * span.len().0 as f64 * 1e-9;
        match estimate(&intervals, span, [Some(10_000); 2], &meter.updates(), false) {
            Ok(estimate) => {
                prop_assert!(estimate.low <= truth && truth <= estimate.high, "{truth} {estimate:?}");
                prop_assert!((estimate.joules - truth).abs() < 0.001 * truth + 1e-5, "{truth} {estimate:?}");
                prop_assert!(estimate.unknown.is_empty());
            }
            Err(why) => prop_assert!(length < 300, "{why}"),
        }
    }
}

#[test]
fn a_counter_that_goes_back_is_unknown_for_that_interval_only() {
    let (meter, intervals) = meter_of(&[5e9, 5.001e9, 1e6, 2e6, 3e6, 4e6, 5e6, 6e6, 7e6, 8e6, 9e6, 1e7], 100 * MS);
    let unknown: Vec<usize> = (0..intervals.len()).filter(|at| intervals[*at].energy.is_err()).collect();
    assert_eq!(unknown, [1]);
    assert!(matches!(intervals[1].energy, Err(Unknown::WentBack(..))));
    let span = Span::new(Ns(0), Ns(1100 * MS));
    let estimate = estimate(&intervals, span, [Some(0); 2], &meter.updates(), false).unwrap();
    assert_eq!((estimate.joules, estimate.known_ns), (10.0, 1000 * MS));
    assert_eq!(estimate.unknown[0].0, Span::new(Ns(100 * MS), Ns(200 * MS)));
}

#[test]
fn a_reading_that_fails_loses_nothing_of_a_counter_but_what_follows_the_last_one() {
    let mut meter = Meter::new(spec());
    let mut push = |ms: i64, value: Result<f64, &str>| {
        meter.push(Reading { at: Ns(ms * MS), value: value.map(Value::Used).map_err(str::to_owned) })
    };
    assert_eq!(push(0, Ok(0.0)), None);
    assert_eq!(push(100, Err("I/O error")), None);
    let interval = push(200, Ok(7e6)).unwrap();
    assert_eq!((interval.span, interval.energy.unwrap().uj), (Span::new(Ns(0), Ns(200 * MS)), 7e6));
    assert_eq!(push(300, Err("gone")), None);
    let last = meter.close().unwrap();
    assert_eq!(last.span, Span::new(Ns(200 * MS), Ns(300 * MS)));
    assert_eq!(last.energy, Err(Unknown::NotRead("gone".into())));
}

#[test]
fn a_counter_that_stops_is_unknown_from_then_on() {
    let values: Vec<f64> = (0..60).map(|n| f64::min(f64::from(n), 20.0) * 1e6).collect();
    let (meter, intervals) = meter_of(&values, 100 * MS);
    let estimate =
        estimate(&intervals, Span::new(Ns(0), Ns(5900 * MS)), [Some(0); 2], &meter.updates(), false).unwrap();
    // It stopped at some time within the interval of its last change.
    assert_eq!((estimate.joules, estimate.known_ns), (19.0, 1900 * MS));
    assert_eq!(estimate.unknown, [(Span::new(Ns(1900 * MS), Ns(5900 * MS)), Unknown::Stopped)]);
    // One that only paused has counted all.
    let values: Vec<f64> = (0..60).map(|n| if n < 20 { 20e6 } else { f64::from(n) * 1e6 }).collect();
    let (meter, intervals) = meter_of(&values, 100 * MS);
    let paused =
        power::estimate(&intervals, Span::new(Ns(0), Ns(5900 * MS)), [Some(0); 2], &meter.updates(), false).unwrap();
    assert_eq!((paused.joules, paused.unknown.len()), (39.0, 0));
}

#[test]
fn a_time_that_is_too_short_for_the_step_is_refused_with_the_time_that_suffices() {
    // 10 W, updates each ms, 5 ms.
    let estimated = |n: i64| {
        let values: Vec<f64> = (0..=n).map(|n| (n * 10_000) as f64).collect();
        let (meter, intervals) = meter_of(&values, MS);
        estimate(&intervals, Span::new(Ns(0), Ns(n * MS)), [Some(MS / 2); 2], &meter.updates(), false)
    };
    let Err(Refused::TooShort(Some(needed))) = estimated(5) else { panic!("{:?}", estimated(5)) };
    assert!(estimated(needed / MS + 1).is_ok(), "{needed}");
    assert!(estimated(needed / MS - 2).is_err(), "{needed}");
    let (meter, intervals) = meter_of(&[3.0; 20], MS);
    assert_eq!(
        estimate(&intervals, Span::new(Ns(0), Ns(19 * MS)), [None; 2], &meter.updates(), false),
        Err(Refused::NoChange)
    );
}

#[test]
fn a_counter_that_advances_by_more_than_is_possible_is_unknown_there() {
    // A reading that is none, and the next one is right again.
    let (_, intervals) = meter_of(&[1e6, 2e6, 9e9, 3e6, 4e6], 100 * MS);
    assert!(matches!(intervals[1].energy, Err(Unknown::Jumped(uj)) if (uj - 8.998e9).abs() < 1.0), "{intervals:?}");
    assert!(matches!(intervals[2].energy, Err(Unknown::WentBack(..))), "{intervals:?}");
    assert_eq!(intervals[3].energy.as_ref().map(|energy| energy.uj), Ok(1e6));
}

#[test]
fn several_wraps_within_an_interval_are_not_counted_as_one() {
    let longest = spec().longest_ns().unwrap();
    // Half of the range at the greatest power.
    assert_eq!(longest / 1_000_000_000, 65);
    let (_, intervals) = meter_of(&[1e9, 2e9], 2 * longest + 1);
    assert_eq!(intervals[0].energy, Err(Unknown::TooLong));
    let (_, intervals) = meter_of(&[1e9, 2e9], longest);
    assert!(intervals[0].energy.is_ok());
}

#[test]
fn charge_is_taken_at_the_voltage_at_which_it_left() {
    // 1 Ah at 12 V that sinks to 11 V: 3,600 C at 11.5 V. The difference of charge times voltage would be far more.
    let mut meter = Meter::new(Spec { range_uj: None, max_power_w: 2000.0, update_ns: None });
    let reading =
        |s: i64, uah: f64, volts: f64| Reading { at: Ns(s * 1_000_000_000), value: Ok(Value::Charge(uah, volts)) };
    assert_eq!(meter.push(reading(0, 5_000_000.0, 12.0)), None);
    let energy = meter.push(reading(3600, 4_000_000.0, 11.0)).unwrap().energy.unwrap();
    assert_eq!([energy.low, energy.uj, energy.high].map(|uj| uj * 1e-6), [39_600.0, 41_400.0, 43_200.0]);
    let charged = meter.push(reading(7200, 4_500_000.0, 12.0)).unwrap();
    assert_eq!(charged.energy, Err(Unknown::Charged));
}

#[test]
fn the_totals_of_document_004_are_doubted_and_an_eighth_of_them_is_not() {
    // E12: up to 189.5 W of a part of 17 W; divided by 8 (a unit, or counted several times) they are plausible.
    let rows = testkit::figures::table("power_totals");
    assert_eq!(rows.len(), 4);
    for row in &rows {
        let number = |column| testkit::figures::number(row, column);
        let watts = number("energy_package_uj_printed") * 1e-6 / number("elapsed_s");
        let doubt = power::doubtful_power(&domain(None), watts, Some(17.0)).expect("above what the part can use");
        assert!(doubt.contains(&format!("{watts:.1} W")), "{doubt}");
        assert_eq!(power::doubtful_power(&domain(None), watts / 8.0, Some(17.0)), None);
        assert_eq!(power::doubtful_power(&domain(None), watts, None), None, "nothing is known of the part");
        let limit = Some((25e6, "constraint_1_power_limit_uw".to_owned()));
        assert!(power::doubtful_power(&domain(limit.clone()), watts, None).is_some_and(|d| d.contains("25.0 W")));
        assert_eq!(power::doubtful_power(&domain(limit), watts / 8.0, None), None);
    }
}

fn domain(limit: Option<(f64, String)>) -> power::Domain {
    power::Domain {
        name: "package-0".into(),
        part: power::Part::Package,
        parent: None,
        same_as: None,
        interface: power::Interface::Powercap,
        place: String::new(),
        gauge: gauge(),
        range_uj: None,
        limit,
        step: None,
        duplicates: vec![],
    }
}

/// Readings of a counter in J each 100 ms, and what is known after each: J, ms, live.
fn totals(readings: &[Result<f64, &str>]) -> Vec<(f64, u64, bool)> {
    let mut total = power::Total::new(domain(None), spec());
    let mut before = 0.0;
    let read = |(n, value): (i64, &Result<f64, &str>)| {
        let value = value.map(|joules| Value::Used(joules * 1e6)).map_err(str::to_owned);
        total.push(Reading { at: Ns(n * 100 * MS), value });
        let sum = total.sum();
        assert!(sum.joules >= before, "{sum:?}");
        assert!(sum.low <= sum.joules && sum.joules <= sum.high, "{sum:?}");
        before = sum.joules;
        (sum.joules, sum.known_ns / MS as u64, sum.is_live)
    };
    (0..).zip(readings).map(read).collect()
}

#[test]
fn a_total_never_falls_and_has_the_time_of_its_energy() {
    // A reset: neither its energy nor its time counts.
    assert_eq!(
        totals(&[Ok(90.0), Ok(91.0), Ok(3.0), Ok(5.0)])[1..],
        [(1.0, 100, true), (1.0, 100, true), (3.0, 200, true)]
    );
    // It was gone for a while, and has counted meanwhile.
    let gone = totals(&[Ok(1.0), Ok(2.0), Err("gone"), Err("gone"), Ok(5.0)]);
    assert_eq!(gone[1..], [(1.0, 100, true), (1.0, 100, false), (1.0, 100, false), (4.0, 400, true)]);
    // Without a change the time is not known before the next one.
    assert_eq!(totals(&[Ok(1.0), Ok(1.0), Ok(1.0), Ok(2.0)])[1..], [(0.0, 0, true), (0.0, 0, true), (1.0, 300, true)]);
    // A wrap.
    let range = RANGE_UJ * 1e-6;
    assert!((totals(&[Ok(range - 1.0), Ok(2.0)])[1].0 - 3.0).abs() < 1e-6);
    // It was switched off for 2 s, which is not known, and goes on.
    let mut off = vec![Ok(1.0), Ok(2.0)];
    off.extend([Ok(2.0); 20]);
    off.extend([Ok(3.0), Ok(4.0)]);
    let off = totals(&off);
    assert_eq!((off[12], off[21], off[23]), ((1.0, 100, false), (1.0, 100, false), (3.0, 300, true)));
}

proptest! {
    #[test]
    fn a_total_is_the_sum_of_the_known_intervals(values in prop::collection::vec(0.0..400.0_f64, 2..60)) {
        let readings: Vec<Result<f64, &str>> = values.iter().map(|v| Ok(*v)).collect();
        let (_, intervals) = meter_of(&values.iter().map(|v| v * 1e6).collect::<Vec<_>>(), 100 * MS);
        let known: Vec<f64> = intervals.iter().filter_map(|i| i.energy.as_ref().ok()).map(|energy| energy.uj * 1e-6).collect();
        let (joules, ms, _) = *totals(&readings).last().unwrap();
        prop_assert!((joules - known.iter().sum::<f64>()).abs() < 1e-6);
        prop_assert_eq!(ms, 100 * known.len() as u64);
    }
}

fn gauge() -> power::Gauge {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("n"), "1").unwrap();
    power::Gauge::Counter(power::Tree::open(dir.path()).unwrap().value("/n").unwrap())
}
