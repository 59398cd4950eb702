//! An argument that is one of a list of names; a misspelt one gets the nearest.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Arg, Command};
use std::ffi::OsStr;

/// The maximum number of names that a message lists.
const MAX_LISTED: usize = 20;

/// Parses one of a list of names.
#[derive(Clone, Debug)]
pub struct KnownNames {
    /// What the names are of: `rule`.
    of: &'static str,
    /// The command that lists them.
    listed_by: &'static str,
    names: Vec<PossibleValue>,
}

impl KnownNames {
    /// Parses a name of this kind, which a command lists.
    pub fn new(of: &'static str, listed_by: &'static str, names: impl IntoIterator<Item = PossibleValue>) -> Self {
        Self { of, listed_by, names: names.into_iter().collect() }
    }
}

impl TypedValueParser for KnownNames {
    type Value = String;

    fn parse_ref(&self, cmd: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<String, clap::Error> {
        let text = value.to_string_lossy();
        if !self.names.iter().any(|name| name.get_name() == text) {
            let Self { of, listed_by, .. } = self;
            let meant = engine::did_you_mean(&text, self.names.iter().map(PossibleValue::get_name));
            let all = match meant.as_str() {
                "." if self.names.len() <= MAX_LISTED => {
                    let names: Vec<&str> = self.names.iter().map(PossibleValue::get_name).collect();
                    format!("choose one of {}", names.join(", "))
                }
                _ => format!("{listed_by} lists them"),
            };
            let message = format!("there is no {of} {}{meant} {all}\n", model::words::plain(&text));
            return Err(clap::Error::raw(ErrorKind::InvalidValue, message).with_cmd(cmd));
        }
        PossibleValuesParser::new(self.names.clone()).parse_ref(cmd, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.names.iter().cloned()))
    }
}

/// The rules of `diagnose`.
pub fn rules() -> KnownNames {
    KnownNames::new("rule", "`corewise explain`", diagnose::RULES.iter().map(|rule| PossibleValue::new(rule.id)))
}
