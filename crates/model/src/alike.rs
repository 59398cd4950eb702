//! Names that a user may have meant.

/// Ends a sentence: with `, did you mean X?` if one of the names is like the given one (it contains it, or differs in few letters), otherwise
/// with a full stop.
///
/// ```
/// use model::did_you_mean;
///
/// let tables = ["threads", "waits", "wakers"];
/// assert_eq!(format!("no table thraeds{}", did_you_mean("thraeds", tables)), "no table thraeds, did you mean threads?");
/// assert_eq!(format!("no table zz{}", did_you_mean("zz", tables)), "no table zz.");
/// ```
#[must_use]
pub fn did_you_mean<'a>(given: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    nearest(given, names, 1).first().map_or(".".to_owned(), |name| format!(", did you mean {name}?"))
}

/// Returns the names that are like the given one, the most alike first, at most so many.
///
/// ```
/// use model::nearest;
///
/// assert_eq!(nearest("wait", ["threads", "waits", "waiters"], 2), ["waits", "waiters"]);
/// assert!(nearest("zz", ["threads"], 2).is_empty());
/// ```
#[must_use]
pub fn nearest<'a>(given: &str, names: impl IntoIterator<Item = &'a str>, at_most: usize) -> Vec<&'a str> {
    /// As in clap and rustc: below this, two names have little in common.
    const LEAST: f64 = 0.8;
    let likeness = |name: &str| {
        let contains = given.len() > 2 && (name.contains(given) || given.contains(name) && name.len() > 2);
        if contains { 1.0 } else { strsim::jaro_winkler(given, name) }
    };
    let rated = names.into_iter().map(|name| (likeness(name), name)).filter(|(likeness, _)| *likeness >= LEAST);
    let mut rated: Vec<(f64, &str)> = rated.collect();
    // Of names that are as alike, the shortest.
    rated.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.len().cmp(&b.1.len())).then(a.1.cmp(b.1)));
    rated.dedup_by(|a, b| a.1 == b.1);
    rated.into_iter().take(at_most).map(|(_, name)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::{did_you_mean, nearest};

    #[test]
    fn names_with_a_typing_error_or_a_part_of_a_name() {
        let names = ["waits", "wakers", "threads", "redis-server"];
        for (given, meant) in
            [("wait", "waits"), ("thraeds", "threads"), ("redis", "redis-server"), ("waker", "wakers")]
        {
            assert_eq!(did_you_mean(given, names), format!(", did you mean {meant}?"));
        }
        assert_eq!(did_you_mean("zz", names), ".");
    }

    #[test]
    fn the_most_alike_names_come_first() {
        let names = ["branches", "branch-misses", "branches", "cycles", "branch-loads"];
        assert_eq!(nearest("branchs", names, 3), ["branches", "branch-loads", "branch-misses"]);
    }
}
