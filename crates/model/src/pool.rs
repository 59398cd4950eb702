//! Names of thread pools.

/// Returns a thread's name without the number that distinguishes it within its pool: `worker 3`, `pool-1-thread-7`, `io_thread2`. A name
/// that is only a number stays unchanged.
///
/// ```
/// use model::pool_name;
///
/// assert_eq!(pool_name("worker 3"), "worker");
/// assert_eq!(pool_name("7042"), "7042");
/// ```
#[must_use]
pub fn pool_name(name: &str) -> &str {
    let word = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let base = word.trim_end_matches([' ', '-', '_', '#', '.', ':', '/']);
    match base {
        "" => name,
        _ if word == name => name,
        _ => base,
    }
}

#[cfg(test)]
mod tests {
    use super::pool_name;

    #[test]
    fn a_number_at_the_end_is_not_part_of_the_pool_name() {
        let names = ["worker 3", "pool-1-thread-7", "io_thread2", "work-", "7042", "#7", "main"];
        assert_eq!(names.map(pool_name), ["worker", "pool-1-thread", "io_thread", "work-", "7042", "#7", "main"]);
    }
}
