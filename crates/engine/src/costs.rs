//! The place of a machine's cost table: `corewise/machines/ID.toml` in the folder of the user's settings.
//!
//! `corewise bench` stores it as a machine file ([`topology::machine_text`]), accessible only to the user, and `corewise record` copies its
//! costs into each recording's manifest.

use ingest::Condition;
use safefs::Dir;
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use topology::{Costs, Machine};

/// The maximum length of a stored table; the largest with all figures has about 8 MB.
const MAX_BYTES: u64 = 32 << 20;
/// The identity of an installation (machine-id(5)). It is confidential, so only a hash of it is used.
const IDENTITY: &str = "/etc/machine-id";
/// The hash depends on its purpose (BLAKE3's key derivation), so that it identifies the machine nowhere else.
const PURPOSE: &str = "corewise 2026-11-26 machine of a cost table";

/// Returns a name for this machine that stays the same when its kernel, microcode, SMT or online CPUs change: a hash of the model, the
/// architecture, the number of CPUs that are present, and the installation's identity where it is readable. Caches, siblings and core types
/// are left out, as the kernel does not describe those of CPUs that are offline.
#[must_use]
pub fn machine_id(machine: &Machine) -> String {
    id(machine, std::fs::read_to_string(IDENTITY).ok().as_deref())
}

fn id(machine: &Machine, identity: Option<&str>) -> String {
    let of = |text: &Option<String>| text.clone().unwrap_or_default();
    let cpus = machine.cpus.len();
    let text =
        format!("{}\0{}\0{cpus}\0{}", of(&machine.model_name), of(&machine.arch), identity.unwrap_or_default().trim());
    let hash = blake3::derive_key(PURPOSE, text.as_bytes());
    hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the path of this machine's cost table: `corewise/machines/ID.toml` in `$XDG_CONFIG_HOME` or `~/.config`, under sudo those of the
/// user who called it. `None` if there is no such folder.
#[must_use]
pub fn costs_path(machine: &Machine) -> Option<PathBuf> {
    Some(safefs::config_home()?.join("corewise/machines").join(format!("{}.toml", machine_id(machine))))
}

/// Stores a machine with its costs, so that [`stored_costs`] finds them. Returns the path.
///
/// # Errors
/// A sentence with the path: it cannot be written, or the costs are impossible.
pub fn store_costs(machine: &Machine) -> Result<PathBuf, String> {
    let path = costs_path(machine).ok_or_else(|| {
        "the folder for the cost table is unknown: set HOME or XDG_CONFIG_HOME, or write the table with --out"
            .to_owned()
    })?;
    write(&path, machine).map_err(|why| format!("{}: {why}", path.display()))?;
    Ok(path)
}

fn write(path: &Path, machine: &Machine) -> Result<(), String> {
    machine.costs.as_ref().map_or(Ok(()), Costs::check)?;
    let (Some(folder), Some(name)) = (path.parent(), path.file_name().and_then(|name| name.to_str())) else {
        return Err("it is not a name for a file".to_owned());
    };
    let write = || {
        let folder = Dir::make_all(folder)?;
        let file = folder.replace(name, topology::machine_text(machine).as_bytes())?;
        (&file).flush()
    };
    write().map_err(|why| why.to_string())
}

/// Returns the stored costs of this machine; `None` if they were never measured.
///
/// # Errors
/// A sentence with the path: the table cannot be read, or is invalid.
pub fn stored_costs(machine: &Machine) -> Result<Option<Costs>, String> {
    costs_path(machine).map_or(Ok(None), |path| read(&path).map_err(|why| format!("{}: {why}", path.display())))
}

fn read(path: &Path) -> Result<Option<Costs>, String> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return Ok(None) };
    let file = match Dir::open(folder).and_then(|folder| folder.open_file(name)) {
        Ok(file) => file,
        Err(why) if why.kind() == ErrorKind::NotFound => return Ok(None),
        Err(why) => return Err(why.to_string()),
    };
    let mut text = String::new();
    file.take(MAX_BYTES).read_to_string(&mut text).map_err(|why| why.to_string())?;
    let machine =
        Machine::from_user(&text).map_err(|why| format!("{why} (or delete the file, and run `corewise bench all`)"))?;
    Ok(machine.costs)
}

/// Returns why a cost table no longer describes the machine of a recording, by the conditions at its start, as a sentence without a full
/// stop. `None` if nothing of what is known changed.
#[must_use]
pub fn stale_costs(costs: &Costs, conditions: &[Condition]) -> Option<String> {
    let start = |name: &str| conditions.iter().find(|of| of.name == name)?.start.as_deref().ok();
    costs.stale("this recording", start)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use topology::{Cost, CostUnit, Estimate, Measured};

    fn machine() -> Machine {
        let mut machine = Machine::of_cpus([model::CpuId(0), model::CpuId(1)]);
        let figure = Cost {
            probe: "switch".into(),
            figure: "pipe".into(),
            pair: None,
            cpus: Vec::new(),
            core_types: Vec::new(),
            parameters: [].into(),
            unit: CostUnit::Ns,
            estimate: Estimate { value: 2100.0, low: 2000.0, high: 2200.0 },
            systematic: None,
            next: None,
            repetitions: 10,
            disturbed: 0,
            misplaced: 0,
            control: None,
            precise: true,
        };
        let conditions = [("kernel_release".to_owned(), "6.17".to_owned())].into();
        let measured = Measured { at: "2026-11-26T16:00:00Z".into(), conditions, ..Measured::default() };
        machine.costs = Some(Costs { measured, figures: vec![figure] });
        machine
    }

    #[test]
    fn a_table_is_stored_for_its_user_only_and_found_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config/corewise/machines/0123.toml");
        assert_eq!(read(&path), Ok(None));
        let mut machine = machine();
        write(&path, &machine).unwrap();
        assert_eq!(read(&path).unwrap(), machine.costs);
        let bits = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((bits(&path), bits(path.parent().unwrap())), (0o600, 0o700));
        // A second measurement replaces the first.
        machine.costs.as_mut().unwrap().figures.clear();
        write(&path, &machine).unwrap();
        assert_eq!(read(&path).unwrap(), machine.costs);
        assert_eq!(std::fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn an_impossible_table_is_neither_stored_nor_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("0123.toml");
        let mut machine = machine();
        machine.costs.as_mut().unwrap().figures[0].estimate.value = f64::NAN;
        assert!(write(&path, &machine).unwrap_err().contains("not a finite number"));
        assert!(!path.exists());
        std::fs::write(&path, topology::machine_text(&machine)).unwrap();
        let why = read(&path).unwrap_err();
        assert!(
            why.starts_with("line ") && why.contains("not a finite number") && why.contains("delete the file"),
            "{why}"
        );
    }

    #[test]
    fn the_id_is_of_the_machine_and_not_of_its_state() {
        let machine = machine();
        let named = |name: &str| Machine { model_name: Some(name.to_owned()), ..machine.clone() };
        let first = id(&machine, Some("a\n"));
        assert_eq!(first.len(), 16);
        let mut offline = machine.clone();
        offline.cpus[1].online = false;
        offline.costs = None;
        assert_eq!(id(&offline, Some("a")), first);
        for other in [id(&machine, None), id(&machine, Some("b")), id(&named("x"), Some("a"))] {
            assert_ne!(other, first);
        }
    }

    #[test]
    fn a_table_is_compared_with_the_start_of_the_recording() {
        let costs = machine().costs.unwrap();
        let of = |start: Result<&str, &str>| {
            let start = start.map(str::to_owned).map_err(str::to_owned);
            stale_costs(&costs, &[Condition { name: "kernel_release".into(), start, end: Err("-".into()) }])
        };
        assert_eq!(of(Ok("6.17")), None);
        assert_eq!(of(Err("not readable")), None);
        assert_eq!(
            of(Ok("6.18")).unwrap(),
            "measured under kernel 6.17, this recording is of 6.18: run `corewise bench all` again"
        );
    }
}
