//! Exports of tables as files.

use crate::{ExportError, Job, Outputs};
use engine::{EngineError, Format, TableWriter};

/// Writes each requested table to its own file.
pub(crate) fn files(job: &mut Job<'_>, to: &mut dyn Outputs, format: Format, suffix: &str) -> Result<(), ExportError> {
    let trace = if format == Format::Parquet { Some(job.session.trace()?) } else { None };
    let mut written = 0;
    for def in job.options.tables(job.session)? {
        let out = to.next(&format!("{}{suffix}", def.name))?;
        let request = job.options.request(def.name);
        let def = request.definition(job.session)?;
        let mut writer = TableWriter::new(def, trace, format, out).map_err(EngineError::Store)?;
        let mut failed = Ok(());
        let read = request.rows(job.session, &mut |rows| {
            failed = rows.iter().try_for_each(|row| writer.push(row));
            written += rows.len() as u64;
            (job.progress)(written);
            if failed.is_ok() { Ok(()) } else { Err(std::io::ErrorKind::BrokenPipe.into()) }
        });
        failed.map_err(EngineError::Store)?;
        read?;
        writer.finish().map_err(EngineError::Store)?;
    }
    Ok(())
}
