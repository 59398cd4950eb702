//! The tests that measure this machine: they run last and one at a time, because what they find depends on what else runs.

use super::load::Load;
use super::program::{Program, Test};
use std::time::Instant;

/// A test that measures or loads this machine, although it needs nothing of its kernel: the package, the test or all tests of a module (a path that ends
/// in `::`), and what it does.
type Also = (&'static str, &'static str, &'static str);

const ALSO: &[Also] = &[
    ("corewise-bench", "clock::", "binds a CPU"),
    ("corewise-bench", "concurrent::", "loads CPUs"),
    ("corewise-bench", "parallel_loop::", "loads CPUs"),
    ("corewise-bench", "thread::", "binds CPUs"),
    ("corewise-bench", "watch::", "reads what runs"),
    ("corewise-bench", "work::", "calibrates work"),
    ("corewise-bench", "probes::chunks::", "loads CPUs"),
    ("corewise-bench", "probes::lock::", "loads CPUs"),
    ("corewise-bench", "probes::memory::", "measures memory"),
    ("corewise-bench", "probes::sleep::", "measures sleeps"),
    ("corewise-bench", "probes::wake::", "measures wakeups"),
    ("corewise-bench", "judge::every_figure_is_described", "calibrates work"),
    ("corewise", "bench::a_busy_machine_is_refused_with_the_busiest_process", "loads all CPUs"),
    ("corewise", "bench::a_measurement_is_printed_stored_and_shown_again", "measures all CPUs"),
    ("corewise", "bench::ctrl_c_ends_a_measurement_and_stores_nothing_of_it", "measures all CPUs"),
    ("corewise", "power::energy_has_a_range_its_work_and_doubts", "a meter that is written each 2 ms"),
    ("corewise", "power::power_above_the_nominal_one_is_doubted", "a meter that is written each 2 ms"),
    ("corewise", "power::results_have_each_format", "a meter that is written each 2 ms"),
    ("corewise", "record::without_permission_the_error_says_what_to_do", "starts a recorder"),
    ("corewise", "safe_files::a_recording_is_private_unless_it_is_shared", "records"),
    ("corewise", "safe_files::under_sudo_the_folder_belongs_to_the_calling_user", "records"),
    ("corewise", "safe_files::a_folder_of_a_third_user_is_refused", "records"),
    ("corewise", "safe_files::nothing_is_written_through_links_created_meanwhile", "records"),
    (
        "corewise",
        "safe_files::ctrl_c_does_not_reach_a_process_that_reuses_the_commands_pid",
        "records, and sets the next PID",
    ),
    (
        "corewise-power",
        "trees::readings_are_aligned_to_updates_and_the_range_has_the_true_energy",
        "a meter that is written each 5 ms",
    ),
    ("corewise-pathologies", "both_variants_do_the_same_work", "loads all CPUs"),
    ("corewise-pathologies", "work_is_proportional_to_the_seconds", "loads all CPUs"),
    ("corewise-serve", "security::more_connections_than_places_only_slow_the_server_down", "thousands of connections"),
    (
        "corewise-serve",
        "share::many_connections_of_the_shared_address_do_not_keep_the_owner_out",
        "thousands of connections",
    ),
    ("corewise-exporter", "http::clients_that_hang_do_not_keep_others_out", "many connections"),
    ("corewise-exporter", "http::ten_thousand_hostile_requests_leave_it_answering", "many connections"),
];

fn names((of, tests, _): &Also, package: &str, test: &str) -> bool {
    *of == package && if tests.ends_with("::") { test.starts_with(tests) } else { test == *tests }
}

/// Whether a test measures this machine: it needs the live kernel, or is on the list.
pub fn is_live(program: &Program, test: &Test) -> bool {
    test.needs.iter().any(|need| need.is_live()) || ALSO.iter().any(|also| names(also, &program.package, &test.name))
}

/// Checks that the list names tests that there are.
pub fn check(programs: &[Program], tests: &[Vec<Test>]) -> Result<(), String> {
    let all = || programs.iter().zip(tests).flat_map(|(p, tests)| tests.iter().map(|t| (&p.package, &t.name)));
    match ALSO.iter().find(|also| !all().any(|(package, test)| names(also, package, test))) {
        Some((package, test, _)) => Err(format!("xtask/src/test/live.rs: {package} has no test {test}")),
        None => Ok(()),
    }
}

/// Runs the tests one after the other. Returns the failure.
pub fn run(program: &Program, tests: &[&Test]) -> Option<String> {
    if tests.is_empty() {
        return None;
    }
    print!("{}", program.announced("live: "));
    let mut failed = Vec::new();
    for test in tests {
        let (begin, before) = (Instant::now(), Load::now());
        let result = program.one(&test.name);
        let word = if result.is_ok() { "ok" } else { "FAILED" };
        println!("test {} ... {word} ({:.1} s)", test.name, begin.elapsed().as_secs_f64());
        if let Err(printed) = result {
            println!("{printed}\n{}", before.since());
            failed.push(test.name.as_str());
        }
    }
    // The closing line of the test runner, for those who count.
    let word = if failed.is_empty() { "ok" } else { "FAILED" };
    println!("\ntest result: {word}. {} passed; {} failed; one at a time", tests.len() - failed.len(), failed.len());
    if failed.is_empty() { None } else { Some(format!("failed: {}", failed.join(", "))) }
}
