//! The most useful figures as sentences.

use super::groups::groups;
use super::words;
use engine::{Cost, CostUnit, PairClass};

/// The most sentences.
const MOST: usize = 5;

/// The largest half width of an interval, as a share of the value, of a figure that is worth a sentence.
const CLOSE: f64 = 0.25;

/// What most readers want to know, at most five sentences, of the probes that were measured. Figures with wide intervals are left out.
pub fn useful(costs: &[Cost]) -> Vec<String> {
    let is_close = |cost: &&Cost| cost.estimate.half_width() <= CLOSE * cost.estimate.value.abs();
    let costs: Vec<Cost> = costs.iter().filter(is_close).cloned().collect();
    let costs = costs.as_slice();
    let all = [moves, switches, speeds, siblings, refills, chunks, wakes, sleeps];
    all.into_iter().filter_map(|of| of(costs)).take(MOST).collect()
}

/// A median over the places of one class.
struct Found {
    class: String,
    pair: Option<PairClass>,
    value: f64,
    text: String,
}

fn found(costs: &[Cost], probe: &str, figure: &str, of: impl Fn(&Cost) -> bool) -> Vec<Found> {
    let own: Vec<&Cost> =
        costs.iter().filter(|cost| cost.probe == probe && cost.figure == figure && of(cost)).collect();
    let of_group = |group: super::groups::Group<'_>| {
        let value = group.median();
        Found { class: group.class.clone(), pair: group.pair, value, text: words::value(group.unit, value) }
    };
    let mut all: Vec<Found> = groups(&own).into_iter().map(of_group).collect();
    // Of one class the first: groups are in order of their parameters, so it has the least of what was varied.
    all.dedup_by(|next, first| next.class == first.class);
    all
}

/// The range over classes: "19.0 us (other core)", or "5.1 us (sibling) to 19.0 us (other core)".
fn range(of: &[Found]) -> Option<String> {
    let low = of.iter().min_by(|a, b| a.value.total_cmp(&b.value))?;
    let high = of.iter().max_by(|a, b| a.value.total_cmp(&b.value))?;
    Some(match of.len() {
        1 => format!("{} ({})", low.text, low.class),
        _ => format!("{} ({}) to {} ({})", low.text, low.class, high.text, high.class),
    })
}

fn elsewhere(cost: &Cost) -> bool {
    cost.pair.is_some_and(|pair| pair != PairClass::SameCpu)
}

fn moves(costs: &[Cost]) -> Option<String> {
    let moved = range(&found(costs, "migrate", "move", elsewhere))?;
    let call = found(costs, "migrate", "call", |_| true);
    let call = call.first().map_or_else(String::new, |call| format!("; the call alone {}", call.text));
    Some(format!("Moving a thread to another CPU costs {moved}{call}."))
}

fn switches(costs: &[Cost]) -> Option<String> {
    let all = found(costs, "switch", "pipe", |_| true);
    let (here, away): (Vec<Found>, Vec<Found>) = all.into_iter().partition(|of| of.pair == Some(PairClass::SameCpu));
    let here = here.iter().min_by(|a, b| a.value.total_cmp(&b.value))?;
    let away = range(&away).map_or_else(String::new, |away| format!(", and to another CPU {away}"));
    Some(format!("A hand-over by a pipe takes {} on one CPU{away}.", here.text))
}

fn refills(costs: &[Cost]) -> Option<String> {
    let bytes = |cost: &Cost| cost.parameters.get("working_set_bytes")?.parse::<u64>().ok();
    // The largest set whose refill is certain: large sets are read from memory with and without a move.
    let is_certain = |cost: &&Cost| cost.probe == "migrate" && cost.figure == "refill" && cost.estimate.low > 0.0;
    let most = costs.iter().filter(is_certain).filter_map(bytes).max()?;
    let refill = range(&found(costs, "migrate", "refill", |cost| elsewhere(cost) && bytes(cost) == Some(most)))?;
    Some(format!("After a move, one pass over {} of data takes {refill} longer.", words::size(most)))
}

fn siblings(costs: &[Cost]) -> Option<String> {
    let values: Vec<f64> = costs
        .iter()
        .filter(|cost| cost.probe == "smt" && cost.figure == "gain" && cost.pair == Some(PairClass::Sibling))
        .filter(|cost| cost.parameters.get("neighbour") != Some(&"none".to_owned()))
        .map(|cost| cost.estimate.value)
        .collect();
    let [low, high] =
        values.iter().fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], x| [low.min(*x), high.max(*x)]);
    (low <= high).then(|| {
        format!("Two threads on the siblings of one core do from {low:.2} to {high:.2} times the work of one, by kind of work.")
    })
}

fn wakes(costs: &[Cost]) -> Option<String> {
    let own = |probe, figure| range(&found(costs, probe, figure, elsewhere));
    let woken = own("wake", "wake_latency").or_else(|| own("migrate", "wake"))?;
    Some(format!("A thread that sleeps on another CPU runs {woken} after its wakeup."))
}

fn sleeps(costs: &[Cost]) -> Option<String> {
    let late: Vec<&Cost> = costs.iter().filter(|cost| cost.probe == "sleep" && cost.unit == CostUnit::Ns).collect();
    let late: Vec<f64> = late.iter().filter(|cost| cost.figure == "late").map(|cost| cost.estimate.value).collect();
    let [low, high] =
        late.iter().fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], x| [low.min(*x), high.max(*x)]);
    let [from, to] = [low, high].map(|x| words::value(CostUnit::Ns, x));
    (low <= high).then(|| format!("A sleep ends later than requested by {from} to {to}, by length and timer slack."))
}

/// The schedule that ends soonest, and how many others do not differ from it.
fn chunks(costs: &[Cost]) -> Option<String> {
    let all: Vec<&Cost> = costs.iter().filter(|cost| cost.probe == "chunks" && cost.figure == "makespan").collect();
    let best = all.iter().min_by(|a, b| a.estimate.value.total_cmp(&b.estimate.value))?;
    let same = all.iter().filter(|cost| cost.estimate.low <= best.estimate.high).count() - 1;
    let with = words::parameters(&best.parameters);
    let time = words::estimate(best.unit, &best.estimate);
    let ties = match same {
        0 => String::new(),
        1 => "; 1 other schedule does not differ from it".to_owned(),
        _ => format!("; {same} other schedules do not differ from it"),
    };
    Some(format!("The parallel loop ends soonest with {with}: {} {}{ties}.", time.value, time.interval))
}

fn speeds(costs: &[Cost]) -> Option<String> {
    let is_own = |cost: &&Cost| cost.probe == "speed" && cost.figure == "speed" && cost.core_types.len() == 2;
    let own: Vec<&Cost> = costs.iter().filter(is_own).collect();
    let types = own.first()?.core_types.as_slice();
    let values = own.iter().filter(|cost| cost.core_types == types).map(|cost| cost.estimate.value);
    let [low, high] = values.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], x| [low.min(x), high.max(x)]);
    let [of, over] = types else { return None };
    Some(format!(
        "Cores of type {} have {low:.2} to {high:.2} times the speed of cores of type {}, by kind of work.",
        words::plain(of.as_str()),
        words::plain(over.as_str())
    ))
}

#[cfg(test)]
mod tests {
    use super::super::groups::tests::cost;
    use super::*;

    #[test]
    fn sentences_name_the_nearest_and_the_farthest_class() {
        let moved = |pair, cpus: &[u32], value| cost("migrate", "move", Some(pair), cpus, CostUnit::Ns, value);
        let mut refill = cost("migrate", "refill", Some(PairClass::OtherCore), &[0, 1], CostUnit::Ns, 35_000.0);
        refill.parameters.insert("working_set_bytes".to_owned(), "1048576".to_owned());
        // The same with something between, which is not what a move alone costs.
        let mut with_work = moved(PairClass::OtherCore, &[0, 2], 99_000.0);
        with_work.parameters.insert("work_between_ns".to_owned(), "20000".to_owned());
        let all = [
            moved(PairClass::Sibling, &[0, 1], 5100.0),
            moved(PairClass::OtherCore, &[0, 2], 19_000.0),
            with_work,
            cost("migrate", "call", Some(PairClass::SameCpu), &[0], CostUnit::Ns, 900.0),
            refill,
            cost("switch", "pipe", Some(PairClass::SameCpu), &[0], CostUnit::Ns, 2300.0),
        ];
        assert_eq!(
            useful(&all),
            [
                "Moving a thread to another CPU costs 5.10 us (sibling) to 19.0 us (other core); the call alone 900 ns.",
                "A hand-over by a pipe takes 2.30 us on one CPU.",
                "After a move, one pass over 1 MiB of data takes 35.0 us (other core) longer.",
            ]
        );
        assert!(useful(&[]).is_empty());
    }
}
