//! Reads `--machine FILE`: facts about a machine that the trace does not have.

use crate::costs::{Cost, Measured};
use crate::cpulist;
use crate::header::set_groups;
use crate::machine::{Claim, Cpu, Fact, Judged, Machine, Source};
use crate::user_costs;
use model::{CoreType, CpuId};
use serde::Deserialize;
use std::collections::BTreeSet;
use toml::Spanned;

/// An invalid machine file: the line, and the correction.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{}{what}", line.map(|n| format!("line {n}: ")).unwrap_or_default())]
pub struct BadMachine {
    /// The line, from 1, if known.
    pub line: Option<usize>,
    /// The error and the correction.
    pub what: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Described {
    model: Option<String>,
    arch: Option<String>,
    #[serde(default)]
    siblings: Vec<Spanned<String>>,
    #[serde(default)]
    l2: Vec<Spanned<String>>,
    #[serde(default)]
    l3: Vec<Spanned<String>>,
    #[serde(default)]
    cpus: Vec<Spanned<Entry>>,
    measured: Option<Spanned<Measured>>,
    #[serde(default)]
    costs: Vec<Spanned<Cost>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    ids: Spanned<String>,
    #[serde(rename = "type")]
    kind: Option<Spanned<CoreType>>,
    #[serde(default)]
    siblings: Vec<Spanned<String>>,
    #[serde(default)]
    l2: Vec<Spanned<String>>,
    #[serde(default)]
    l3: Vec<Spanned<String>>,
    package: Option<u32>,
    die: Option<u32>,
    cluster: Option<u32>,
    node: Option<u32>,
    capacity: Option<Spanned<u32>>,
    max_khz: Option<u32>,
    vendor: Option<String>,
    online: Option<bool>,
}

/// The text of the file, to turn positions into lines.
pub(crate) struct Lines<'a>(&'a str);

impl Lines<'_> {
    pub(crate) fn bad(&self, at: usize, what: impl Into<String>) -> BadMachine {
        let before = self.0.as_bytes().iter().take(at);
        BadMachine { line: Some(1 + before.filter(|b| **b == b'\n').count()), what: what.into() }
    }

    fn list(&self, text: &Spanned<String>) -> Result<Vec<CpuId>, BadMachine> {
        match cpulist::parse(text.get_ref()) {
            Ok(list) if !list.is_empty() => Ok(list),
            Ok(_) => Err(self.bad(text.span().start, "an empty CPU list: write the CPUs' numbers, such as \"0-3,8\"")),
            Err(why) => Err(self.bad(text.span().start, format!("{why}: write the CPUs' numbers, such as \"0-3,8\""))),
        }
    }

    fn groups(&self, texts: &[Spanned<String>], into: &mut Vec<Vec<CpuId>>, known: &[Cpu]) -> Result<(), BadMachine> {
        let mut seen: BTreeSet<CpuId> = into.iter().flatten().copied().collect();
        for text in texts {
            let group = self.list(text)?;
            if group.len() > cpulist::MAX_GROUP {
                let what =
                    format!("{} CPUs share one core or cache: the maximum is {}", group.len(), cpulist::MAX_GROUP);
                return Err(self.bad(text.span().start, what));
            }
            for id in &group {
                if known.binary_search_by_key(id, |c| c.id).is_err() {
                    let what = format!("CPU {} is in no `ids`: add it to a [[cpus]]", id.0);
                    return Err(self.bad(text.span().start, what));
                }
                if !seen.insert(*id) {
                    let what = format!("CPU {} is in two of these groups: keep it in one", id.0);
                    return Err(self.bad(text.span().start, what));
                }
            }
            into.push(group);
        }
        Ok(())
    }
}

impl Machine {
    /// Reads a machine file. Its facts have the source [`Source::User`]:
    ///
    /// ```
    /// let machine = topology::Machine::from_user(r#"
    ///     model = "Core i7-1370P"           # every key but `ids` is optional
    ///     arch = "x86_64"
    ///     l3 = ["0-19"]                     # one string for each cache; here or within [[cpus]]
    ///
    ///     [[cpus]]
    ///     ids = "0-11"
    ///     type = "performance"              # performance, middle, efficient, low_power or uniform
    ///     siblings = ["0-1", "2-3", "4-5", "6-7", "8-9", "10-11"]   # one string for each core
    ///     l2 = ["0-1", "2-3", "4-5", "6-7", "8-9", "10-11"]
    ///     max_khz = 5000000
    ///
    ///     [[cpus]]
    ///     ids = "12-19"
    ///     type = "efficient"
    ///     l2 = ["12-15", "16-19"]
    ///     max_khz = 3900000
    /// "#).unwrap();
    /// assert_eq!(machine.core_type(model::CpuId(12)), model::CoreType::Efficient);
    /// ```
    ///
    /// Other keys of `[[cpus]]`: `package`, `die`, `cluster`, `node`, `capacity` (0-1024), `vendor` (the vendor's name of the type) and
    /// `online = false`. `[measured]` and `[[costs]]` have what its cores cost, as `corewise bench` writes them. Without `type`, the types follow from `capacity`, or else from `max_khz`.
    ///
    /// # Errors
    /// If the file is invalid, with the line and the correction.
    pub fn from_user(text: &str) -> Result<Self, BadMachine> {
        let lines = Lines(text);
        user_costs::limit(text)?;
        let file: Described = toml::from_str(text).map_err(|why: toml::de::Error| {
            let what = why.message().replace('\n', " ");
            match why.span() {
                Some(span) => lines.bad(span.start, what),
                None => BadMachine { line: None, what },
            }
        })?;
        if file.cpus.is_empty() {
            let what = "no CPUs: write [[cpus]] and below it ids = \"0-7\"".to_owned();
            return Err(BadMachine { line: None, what });
        }
        let mut cpus: Vec<(Cpu, Option<CoreType>)> = Vec::new();
        let typed = file.cpus.iter().filter(|e| e.get_ref().kind.is_some()).count();
        for entry in &file.cpus {
            let (at, entry) = (entry.span().start, entry.get_ref());
            if typed > 0 && entry.kind.is_none() {
                return Err(
                    lines.bad(at, "this [[cpus]] has no `type`, but others do: give all of them a type, or none")
                );
            }
            if let Some(c) = entry.capacity.as_ref().filter(|c| *c.get_ref() > 1024) {
                return Err(lines.bad(c.span().start, "the maximum of `capacity` is 1024, the fastest core"));
            }
            for id in lines.list(&entry.ids)? {
                cpus.push((entry.cpu(id), entry.kind.as_ref().map(|k| *k.get_ref())));
            }
            cpus.sort_by_key(|(cpu, _)| cpu.id);
            if let Some((cpu, _)) = cpus.iter().zip(cpus.iter().skip(1)).find(|(a, b)| a.0.id == b.0.id).map(|(a, _)| a)
            {
                let what = format!("CPU {} is in two `ids`: keep it in one", cpu.id.0);
                return Err(lines.bad(entry.ids.span().start, what));
            }
        }
        let uniform =
            |e: &&Spanned<Entry>| e.get_ref().kind.as_ref().is_some_and(|k| *k.get_ref() == CoreType::Uniform);
        if let Some(entry) = file.cpus.iter().find(uniform)
            && file.cpus.iter().filter(uniform).count() < file.cpus.len()
        {
            let what =
                "`uniform` means that all cores are equal: give this [[cpus]] another type, or all of them `uniform`";
            return Err(lines.bad(entry.span().start, what));
        }
        let kinds: Vec<CoreType> = cpus.iter().filter_map(|(_, kind)| *kind).collect();
        let mut cpus: Vec<Cpu> = cpus.into_iter().map(|(cpu, _)| cpu).collect();
        let (mut siblings, mut l2, mut l3) = (Vec::new(), Vec::new(), Vec::new());
        let inside = file.cpus.iter().map(Spanned::get_ref).map(|e| (&e.siblings, &e.l2, &e.l3));
        for (s, two, three) in inside.chain([(&file.siblings, &file.l2, &file.l3)]) {
            lines.groups(s, &mut siblings, &cpus)?;
            lines.groups(two, &mut l2, &cpus)?;
            lines.groups(three, &mut l3, &cpus)?;
        }
        set_groups(&mut cpus, &siblings, |c| &mut c.siblings);
        set_groups(&mut cpus, &l2, |c| &mut c.l2);
        set_groups(&mut cpus, &l3, |c| &mut c.l3);
        let known = |fact: &Fact| cpus.iter().any(|c| c.has(*fact));
        let sources = Fact::ALL.into_iter().filter(known).map(|fact| (fact, Source::User)).collect();
        let costs = user_costs::read(&lines, file.measured, file.costs, &cpus)?;
        let machine = Self { model_name: file.model, arch: file.arch, cpus, sources, costs, ..Self::default() };
        Ok(machine.judged(&[]).with_user_types(&kinds))
    }

    /// Sets the types that the user named, or else those that follow from the user's numbers.
    fn with_user_types(mut self, kinds: &[CoreType]) -> Self {
        if kinds.is_empty() {
            for claim in self.class.iter_mut().map(|j| &mut j.best).filter(|c| c.source != Source::Assumed) {
                claim.source = Source::User;
            }
            self.notes.clear();
            return self;
        }
        self.notes.clear();
        self.class_names = kinds.iter().copied().collect::<BTreeSet<_>>().into_iter().collect();
        self.class_names.sort_by_key(|kind| speed(*kind));
        if let [_] = self.class_names.as_slice() {
            self.class_names = vec![CoreType::Uniform];
        }
        let class = |kind: &CoreType| (0_u32..).zip(&self.class_names).find(|(_, n)| *n == kind).map_or(0, |(i, _)| i);
        let claim = |kind| Judged { best: Claim { value: class(kind), source: Source::User }, against: Vec::new() };
        self.class = kinds.iter().map(claim).collect();
        self
    }
}

/// Returns the rank of a type by speed, slowest first.
pub(crate) fn speed(kind: CoreType) -> u32 {
    match kind {
        CoreType::LowPower => 0,
        CoreType::Efficient => 1,
        CoreType::Middle | CoreType::Uniform => 2,
        CoreType::Performance => 3,
    }
}

impl Entry {
    fn cpu(&self, id: CpuId) -> Cpu {
        Cpu {
            online: self.online.unwrap_or(true),
            package: self.package,
            die: self.die,
            cluster: self.cluster,
            node: self.node,
            capacity: self.capacity.as_ref().map(|c| *c.get_ref()),
            max_khz: self.max_khz,
            vendor_type: self.vendor.clone(),
            ..Cpu::new(id)
        }
    }
}
