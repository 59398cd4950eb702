//! Names that a user may have meant.

/// Ends a sentence: with `, did you mean X?` if one of the names is like the given one (it contains it, or differs in few letters), otherwise
/// with a full stop.
///
/// ```
/// use engine::did_you_mean;
///
/// let tables = ["threads", "waits", "wakers"];
/// assert_eq!(format!("no table thraeds{}", did_you_mean("thraeds", tables)), "no table thraeds, did you mean threads?");
/// assert_eq!(format!("no table zz{}", did_you_mean("zz", tables)), "no table zz.");
/// ```
#[must_use]
pub fn did_you_mean<'a>(given: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    /// As in clap and rustc: below this, two names have little in common.
    const LEAST: f64 = 0.8;
    let likeness = |name: &str| {
        let contains = given.len() > 2 && (name.contains(given) || given.contains(name) && name.len() > 2);
        if contains { 1.0 } else { strsim::jaro_winkler(given, name) }
    };
    let rated = names.into_iter().map(|name| (likeness(name), name)).filter(|(likeness, _)| *likeness >= LEAST);
    // Of names that are as alike, the shortest.
    let best = rated.max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.len().cmp(&a.1.len())).then(b.1.cmp(a.1)));
    best.map_or(".".to_owned(), |(_, name)| format!(", did you mean {name}?"))
}

#[cfg(test)]
mod tests {
    use super::did_you_mean;

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
}
