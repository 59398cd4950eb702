//! The stored stretches and events of a trace folder, for the viewer.

use crate::redaction::Events;
use crate::session::Kind;
use crate::tables::totals::followed_of;
use crate::{EngineError, Session};
use analysis::{BandSteps, Context};
use model::{CpuStretch, Event, Ns, Span, ThreadStretch, tables};
use store::BriefStretch;

impl Session {
    /// Passes on the stretches of all threads of a trace folder, in order of start, a few thousand at a time.
    ///
    /// # Errors
    /// It is not a trace folder, or is damaged, or `each` failed.
    pub fn thread_stretches(
        &self,
        each: impl FnMut(&[ThreadStretch]) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        self.stored()?.thread_stretches(None, each)
    }

    /// [`Self::thread_stretches`] with only the fields that are drawn.
    ///
    /// # Errors
    /// As [`Self::thread_stretches`].
    pub fn brief_thread_stretches(
        &self,
        each: impl FnMut(&[BriefStretch]) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        self.stored()?.brief_thread_stretches(each)
    }

    /// Passes on the events of a trace folder that are not in stretches (power, parking, marks, values), with all names read so far.
    ///
    /// # Errors
    /// As [`Self::thread_stretches`].
    pub fn events_without_stretches(
        &self,
        mut each: impl FnMut(&[Event], &[Box<str>]) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        let mut shown = self.redaction().map(|redaction| Events::new(redaction));
        self.stored()?.events_without_stretches(false, |events, names| {
            let (events, names) = shown.as_mut().map_or((events, names), |shown| shown.of(events, names));
            each(events, names)
        })
    }

    /// Passes on the stretches of all CPUs of a trace folder, in order of start.
    ///
    /// # Errors
    /// As [`Self::thread_stretches`].
    pub fn cpu_stretches(&self, each: impl FnMut(&[CpuStretch]) -> Result<(), EngineError>) -> Result<(), EngineError> {
        self.stored()?.cpu_stretches(None, each)
    }

    /// Returns a counter for the steps of the table `concurrency_bands`; feed it the stretches of [`Self::cpu_stretches`].
    ///
    /// # Errors
    /// As [`Self::thread_stretches`].
    pub fn band_steps(&self) -> Result<BandSteps, EngineError> {
        let followed = followed_of(&self.table_of_whole(&tables::CPUS)?);
        let span = Span::new(Ns::ZERO, Ns(self.stored()?.manifest().end_ns));
        let ready_known = self.summary().ready_known;
        Ok(BandSteps::new(&Context { machine: self.machine(), span, to_end: true, followed: &followed, ready_known }))
    }

    /// Returns a text that identifies the stored stretches: the trace's id and the checksums of the files.
    ///
    /// # Errors
    /// It is not a trace folder.
    pub fn states_stamp(&self) -> Result<String, EngineError> {
        let manifest = self.stored()?.manifest();
        let states = manifest.files.iter().filter(|(name, _)| name.starts_with("states/"));
        let files = states.map(|(name, file)| format!(" {name} {} {:08x}", file.bytes, file.footer_crc32));
        Ok(format!("{:016x}{}", manifest.trace, files.collect::<String>()))
    }

    fn stored(&self) -> Result<&store::Folder, EngineError> {
        match self.kind() {
            Kind::Folder(folder, None) => Ok(folder),
            Kind::Folder(..) => Err(EngineError::Unfit(format!(
                "{}: stored stretches do not include inferred time: remove --inferred",
                self.path().display()
            ))),
            Kind::Source(..) => {
                let path = self.path().display();
                Err(EngineError::Unfit(format!("{path} is not a trace folder: run `corewise import {path}` first")))
            }
        }
    }
}
