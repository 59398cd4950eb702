//! The version names its build.

use crate::support::good;

#[test]
fn the_version_names_the_profile() {
    let long = good(["--version"]);
    assert_eq!(long, good(["-V"]));
    assert!(long.starts_with(concat!("corewise ", env!("CARGO_PKG_VERSION"), " (")), "{long}");
    let build = long.trim_end().trim_end_matches(')').rsplit(", ").next().unwrap();
    assert!(build.ends_with("dev profile") || build.ends_with("release") || build.ends_with("guided"), "{long}");
}
