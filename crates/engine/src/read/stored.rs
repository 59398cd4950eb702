//! The stretches of a trace folder as they are stored, for who draws them.

use crate::session::Kind;
use crate::tables::totals::followed_of;
use crate::{EngineError, Session};
use analysis::{BandSteps, Context};
use model::{CpuStretch, Event, Ns, Span, ThreadStretch, tables};
use store::Brief;

impl Session {
    /// The stretches of all threads of a trace folder, in order of start, some thousands at a time.
    ///
    /// # Errors
    /// It is no trace folder, or is damaged, or `each` failed.
    pub fn thread_stretches(
        &self,
        each: impl FnMut(&[ThreadStretch]) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        self.stored()?.thread_stretches(None, each)
    }

    /// [`Self::thread_stretches`] with no more than a picture shows of them.
    ///
    /// # Errors
    /// As [`Self::thread_stretches`].
    pub fn threads_in_brief(&self, each: impl FnMut(&[Brief]) -> Result<(), EngineError>) -> Result<(), EngineError> {
        self.stored()?.threads_in_brief(each)
    }

    /// The events of a trace folder that tell of more than stretches (power, parking, marks, values), and all texts told so far.
    ///
    /// # Errors
    /// As [`Self::thread_stretches`].
    pub fn events_without_stretches(
        &self,
        each: impl FnMut(&[Event], &[Box<str>]) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        self.stored()?.events_without_stretches(each)
    }

    /// The stretches of all CPUs of a trace folder, in order of start.
    ///
    /// # Errors
    /// As [`Self::thread_stretches`].
    pub fn cpu_stretches(&self, each: impl FnMut(&[CpuStretch]) -> Result<(), EngineError>) -> Result<(), EngineError> {
        self.stored()?.cpu_stretches(None, each)
    }

    /// What the table `concurrency_bands` counts, from step to step: told of the stretches of [`Self::cpu_stretches`].
    ///
    /// # Errors
    /// As [`Self::thread_stretches`].
    pub fn band_steps(&self) -> Result<BandSteps, EngineError> {
        let followed = followed_of(&self.table_of_whole(&tables::CPUS)?);
        let span = Span::new(Ns::ZERO, Ns(self.stored()?.manifest().end_ns));
        let ready_known = self.summary().ready_known;
        Ok(BandSteps::new(&Context { machine: self.machine(), span, followed: &followed, ready_known }))
    }

    /// What tells these stretches from any others: the trace, and the checksums of their files.
    ///
    /// # Errors
    /// It is no trace folder.
    pub fn states_stamp(&self) -> Result<String, EngineError> {
        let manifest = self.stored()?.manifest();
        let states = manifest.files.iter().filter(|(name, _)| name.starts_with("states/"));
        let files = states.map(|(name, file)| format!(" {name} {} {:08x}", file.bytes, file.footer_crc32));
        Ok(format!("{:016x}{}", manifest.trace, files.collect::<String>()))
    }

    fn stored(&self) -> Result<&store::Folder, EngineError> {
        match self.kind() {
            Kind::Folder(folder, None) => Ok(folder),
            Kind::Folder(..) => Err(EngineError::Other(format!(
                "{}: what is stored has no inferred time: leave out --inferred",
                self.path().display()
            ))),
            Kind::Source(..) => {
                let path = self.path().display();
                Err(EngineError::Other(format!("{path} is no trace folder: run `corewise import {path}` first")))
            }
        }
    }
}
