//! The end of a report: what was left out, and the next steps.

use crate::words::plain;
use crate::{LeftOut, Options};
use engine::Session;
use page::Page;

/// Makes the end of the report.
pub fn page(session: &Session, options: &Options, left_out: &LeftOut) -> Page {
    let mut page = Page::default();
    page.heading("Next steps");
    page.commands(commands(session, options, left_out));
    let path = plain(&session.path().display().to_string());
    let of_part = of_part(options);
    if !left_out.parts.is_empty() {
        page.paragraph(&format!("Left out of this short report: {}.", left_out.parts.join(", ")));
    }
    if options.max_lines.is_none() {
        // The other tables are empty.
        let names: Vec<&str> =
            session.tables().iter().filter(|def| session.may_have_rows(def)).map(|def| def.name).collect();
        page.paragraph(&format!("Tables (corewise table {path} NAME{of_part}): {}", names.join(", ")));
    }
    page
}

/// The options that select the analysed range.
fn of_part(options: &Options) -> String {
    options.period.as_ref().map_or(String::new(), |period| format!(" {}", plain(period)))
}

/// The next commands, and what each of them shows.
fn commands(session: &Session, options: &Options, left_out: &LeftOut) -> Vec<(String, &'static str)> {
    let path = plain(&session.path().display().to_string());
    let (of_part, is_short) = (of_part(options), options.max_lines.is_some());
    let of_frames = session.full_summary().is_of_frames();
    let mut hints = Vec::new();
    if !of_frames {
        hints.push((format!("corewise diagnose {path}{of_part}"), "what is wrong, and what fixing it saves"));
    }
    if !left_out.parts.is_empty() {
        hints.push((format!("corewise report {path}{of_part} --full"), "all of this report"));
    }
    if options.process.is_none() {
        hints.push((format!("corewise report {path}{of_part} --process NAME"), "one process only, by name or PID"));
    }
    if left_out.sections {
        hints.push((
            format!("corewise report {path}{of_part} --sections all"),
            "findings, SMT siblings, waiting, migrations, …: takes longer",
        ));
    }
    if session.summary().frames > 0 {
        hints.push((format!("corewise table {path} frames{of_part} --format csv"), "every frame"));
    }
    if of_frames && session.is_folder() {
        // The other tables of a frame log are empty.
    } else if session.is_folder() {
        if !is_short {
            let of = format!("corewise table {path} thread_state{of_part} --format csv");
            hints.push((of, "every stretch of every thread"));
        }
    } else {
        hints.push((format!("corewise import {path} -o run.cw"), "Parquet files that open immediately"));
        if left_out.concurrency {
            hints
                .push((format!("corewise report {path}{of_part} --concurrency"), "how many CPUs ran at the same time"));
        }
    }
    if session.is_folder() && !of_frames {
        hints.push((format!("corewise view {path}"), "the timeline, in the browser"));
    }
    hints.push((format!("corewise tables {path}"), "list all tables"));
    if !options.pictures {
        hints
            .push((format!("corewise report {path}{of_part} --html run.html"), "the report as one page with pictures"));
    }
    hints
}
