//! Which build this is: `build.rs` finds it.

/// The version with the build, for `--version`: `0.2.0 (36b44cfd, 2026-11-27, dev profile)`.
pub const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("COREWISE_BUILD"), ")");

/// The commit, its date and the profile; only the profile where the commit is unknown. Recordings keep it.
pub const BUILD: &str = env!("COREWISE_BUILD");

/// Whether this is a build for trying and testing (`make demo`), with debug assertions or not fully optimised: its times are not those of the
/// installed one.
pub fn is_demo() -> bool {
    cfg!(debug_assertions) || env!("COREWISE_OPT_LEVEL") != "3"
}

/// What must be known about times that such a build measured; none of another build.
pub fn note() -> Option<String> {
    let note = || format!("measured with a build of the {}: slower than the installed one (make install)", profile());
    is_demo().then(note)
}

/// The profile in words: `dev profile`.
pub fn profile() -> &'static str {
    BUILD.split(", ").find(|part| part.ends_with(" profile")).unwrap_or("release profile")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_comes_first_and_the_profile_is_named() {
        assert!(VERSION.starts_with(concat!(env!("CARGO_PKG_VERSION"), " (")) && VERSION.ends_with(')'), "{VERSION}");
        assert!(profile().ends_with(" profile"), "{BUILD}");
        assert_eq!(note().is_some(), is_demo());
        if cfg!(debug_assertions) {
            assert!(is_demo(), "{BUILD}");
        }
    }
}
