//! The folder of a user's settings.

use crate::owner;
use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The list of users.
const USERS: &str = "/etc/passwd";
/// The maximum part of it that is read.
const MAX_BYTES: u64 = 4 << 20;

/// Returns the folder of the user's settings (XDG Base Directory Specification): `$XDG_CONFIG_HOME`, or `.config` in the home folder. Under
/// sudo it is that of the user who called it, so that this user finds what root measured. `None` if neither is known.
#[must_use]
pub fn config_home() -> Option<PathBuf> {
    let invoking = owner::invoking_user().and_then(|(uid, _)| home_of(uid.as_raw(), &users()));
    folder(|name| std::env::var_os(name), invoking)
}

/// A relative `XDG_CONFIG_HOME` is ignored, as the specification says.
fn folder(variable: impl Fn(&str) -> Option<OsString>, invoking: Option<PathBuf>) -> Option<PathBuf> {
    let absolute = |path: &PathBuf| path.is_absolute();
    let named = variable("XDG_CONFIG_HOME").map(PathBuf::from).filter(absolute);
    let home = || invoking.or_else(|| variable("HOME").map(PathBuf::from)).filter(absolute);
    named.or_else(|| Some(home()?.join(".config")))
}

fn users() -> String {
    let mut bytes = Vec::new();
    if let Ok(file) = std::fs::File::open(USERS) {
        let _ = file.take(MAX_BYTES).read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns the home folder of a user in the list: `name:password:uid:gid:comment:home:shell` (passwd(5)).
fn home_of(uid: u32, users: &str) -> Option<PathBuf> {
    users.lines().find_map(|line| {
        let mut fields = line.split(':').skip(2);
        let is_it = fields.next()?.parse() == Ok(uid);
        let home = Path::new(fields.nth(2)?);
        (is_it && home.is_absolute()).then(|| home.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_home_of_a_user_is_found_by_number() {
        let users =
            "root:x:0:0:root:/root:/bin/sh\nbad line\nann:x:1000:1000:Ann,,,:/home/ann:/bin/sh\nnone:x:7:7::rel:/x\n";
        assert_eq!(home_of(1000, users), Some(PathBuf::from("/home/ann")));
        assert_eq!(home_of(7, users), None);
        assert_eq!(home_of(1, users), None);
    }

    #[test]
    fn settings_are_in_the_folder_of_the_user_who_called_sudo() {
        let with = |xdg: Option<&'static str>| {
            move |name: &str| match name {
                "XDG_CONFIG_HOME" => xdg.map(OsString::from),
                _ => Some("/root".into()),
            }
        };
        let ann = Some(PathBuf::from("/home/ann"));
        assert_eq!(folder(with(None), None), Some("/root/.config".into()));
        assert_eq!(folder(with(None), ann.clone()), Some("/home/ann/.config".into()));
        assert_eq!(folder(with(Some("/cfg")), ann.clone()), Some("/cfg".into()));
        assert_eq!(folder(with(Some("cfg")), ann), Some("/home/ann/.config".into()));
        assert_eq!(folder(|_| None, None), None);
    }
}
