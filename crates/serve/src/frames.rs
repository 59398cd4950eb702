//! Frames of any source, listed by length, the causes of one of them, and the critical path to the end of a thread.

use crate::answer;
use crate::queries::QueryError;
use crate::routes::{App, arrow, bad_request, query_error};
use axum::Router;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use engine::{FrameGroup, FrameList, FrameSource, IntervalKind, PathWindow, Session};
use model::{Col, Kind, MadeFrom, Ns, Shows, Span, TableDef, ThreadKey, Value, tables};
use serde::Deserialize;
use serde_json::{Value as Json, json};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// The maximum number of frames in a list.
const MAX_FRAMES: usize = 1000;
/// The number of lists that are kept.
const KEPT: usize = 4;
/// The maximum number of pieces of a critical path in an answer.
const MAX_PIECES: usize = 10_000;

/// The columns of a list of frames.
pub(crate) const COLUMNS: TableDef = TableDef {
    name: "listed_frames",
    version: 1,
    made_from: MadeFrom::Elsewhere,
    large: false,
    doc: "The slowest frames of a source, the slowest first.",
    key: &["rank"],
    cols: &[
        Col::new("rank", Kind::Int, "", "Rank of the frame; 1 is the slowest."),
        Col::new("start_ns", Kind::Int, "ns", "First instant."),
        Col::new("end_ns", Kind::Int, "ns", "First instant after it."),
        Col::new("frame_ns", Kind::Int, "ns", "Frame time."),
        Col::new("over_ns", Kind::Int, "ns", "Frame time minus the budget."),
        Col::new("thread", Kind::Int, "", "The thread that marked it or does its work; null if unknown.")
            .thread_key()
            .or_null(),
        Col::text("name", Shows::Mark, "Name of the mark, or the program of the frame log.").or_null(),
        Col::new(
            "number",
            Kind::Int,
            "",
            "Number among those of its thread or name, from 1; null for marks and frame logs.",
        )
        .or_null(),
    ],
};

/// The lists that were requested last.
#[derive(Default)]
pub(crate) struct FrameLists(Mutex<VecDeque<(String, Arc<FrameList>)>>);

impl FrameLists {
    /// Returns a list; makes it if it is not kept. `None` if the source has no frames.
    fn get(&self, session: &Session, query: &List) -> Result<Option<Arc<FrameList>>, QueryError> {
        let source =
            source_of(&query.of).ok_or_else(|| QueryError::Invalid("`of` names no source of frames".into()))?;
        let budget = query.budget.map(Ns).or_else(|| session.budget());
        if budget.is_some_and(|ns| ns <= Ns::ZERO) {
            return Err(QueryError::Invalid("`budget` must be at least 1 ns".into()));
        }
        let key = format!("{} {}", budget.map_or(0, |ns| ns.0), query.of);
        let lists = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, list)) = lists().iter().find(|(of, _)| *of == key) {
            return Ok(Some(Arc::clone(list)));
        }
        let list = session.frame_list(&source, budget, MAX_FRAMES).map_err(|e| QueryError::Failed(e.to_string()))?;
        let list = list.map(Arc::new);
        if let Some(list) = &list {
            let mut kept = lists();
            kept.push_back((key, Arc::clone(list)));
            if kept.len() > KEPT {
                kept.pop_front();
            }
        }
        Ok(list)
    }
}

/// A request for the sources of frames.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sources {
    /// Whether to include periods, requests and parallel regions, which may take a pass over the recording.
    #[serde(default)]
    intervals: bool,
}

/// A request for a list of frames.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    /// The source, as the sources name it.
    of: String,
    /// The frame budget, in ns.
    budget: Option<i64>,
    /// Of a request for causes: the frame's rank.
    rank: Option<usize>,
}

/// A request for a critical path.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Path {
    from: i64,
    to: i64,
    /// The key of the thread with which it ends.
    thread: ThreadKey,
}

pub(crate) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/api/frames/sources", get(sources))
        .route("/api/frames", get(list))
        .route("/api/frames/causes", get(causes))
        .route("/api/path", get(path))
}

async fn sources(State(app): State<Arc<App>>, query: Result<Query<Sources>, QueryRejection>) -> Response {
    let intervals = match query {
        Ok(Query(query)) => query.intervals,
        Err(why) => return bad_request(&why.body_text()),
    };
    let found = app.computations.ask(move |session, _| {
        let found = session.frame_sources(intervals).map_err(|e| QueryError::Failed(e.to_string()))?;
        Ok(found.iter().map(described).collect::<Json>().to_string())
    });
    match found.await {
        Ok(found) => ([(CONTENT_TYPE, "application/json")], found).into_response(),
        Err(why) => query_error(&why),
    }
}

async fn list(State(app): State<Arc<App>>, query: Result<Query<List>, QueryRejection>) -> Response {
    let of = Arc::clone(&app);
    match query {
        Ok(Query(query)) => {
            arrow(app.computations.ask(move |session, _| listed(of.frames.get(session, &query)?.as_deref())).await)
        }
        Err(why) => bad_request(&why.body_text()),
    }
}

async fn causes(State(app): State<Arc<App>>, query: Result<Query<List>, QueryRejection>) -> Response {
    let of = Arc::clone(&app);
    match query {
        Ok(Query(query)) => arrow(
            app.computations.ask(move |session, cancelled| causes_of(session, &of.frames, &query, cancelled)).await,
        ),
        Err(why) => bad_request(&why.body_text()),
    }
}

async fn path(State(app): State<Arc<App>>, query: Result<Query<Path>, QueryRejection>) -> Response {
    match query {
        Ok(Query(query)) => {
            arrow(app.computations.ask(move |session, cancelled| path_of(session, &query, cancelled)).await)
        }
        Err(why) => bad_request(&why.body_text()),
    }
}

/// The words that name sources of frames in requests.
const LOG: &str = "log";
const MARK: &str = "mark";

/// Describes a source: `of` names it in requests.
pub(crate) fn described(group: &FrameGroup) -> Json {
    let (kind, thread, pid, name) = match &group.source {
        FrameSource::Log => (LOG, None, None, None),
        FrameSource::Marks(name) => (MARK, None, None, Some(name)),
        FrameSource::Thread(kind, thread) => (kind.word(), Some(*thread), None, None),
        FrameSource::Regions(pid, name) => (IntervalKind::Region.word(), None, *pid, Some(name)),
    };
    let of = match &group.source {
        FrameSource::Log => LOG.to_owned(),
        FrameSource::Marks(name) => format!("{MARK}:{name}"),
        FrameSource::Thread(_, thread) => format!("{kind}:{}", thread.0),
        FrameSource::Regions(pid, name) => {
            format!("{kind}:{}:{name}", pid.map_or_else(String::new, |pid| pid.to_string()))
        }
    };
    let frames = group.looks_like.is_some() || group.source == FrameSource::Log;
    json!({"of": of, "kind": kind, "thread": thread, "pid": pid, "name": name, "count": group.count, "frames": frames})
}

/// Returns the source that a request names.
fn source_of(of: &str) -> Option<FrameSource> {
    if of == LOG {
        return Some(FrameSource::Log);
    }
    let (word, name) = of.split_once(':')?;
    if word == MARK {
        return Some(FrameSource::Marks(name.to_owned()));
    }
    let kind = IntervalKind::ALL.into_iter().find(|kind| kind.word() == word)?;
    if kind != IntervalKind::Region {
        return Some(FrameSource::Thread(kind, ThreadKey(name.parse().ok()?)));
    }
    let (pid, name) = name.split_once(':')?;
    let pid = if pid.is_empty() { None } else { Some(pid.parse().ok()?) };
    Some(FrameSource::Regions(pid, name.to_owned()))
}

/// Encodes a list: the metadata have the budget, the median, the number of frames, how many exceed the budget, and the bars of the
/// histogram.
pub(crate) fn listed(list: Option<&FrameList>) -> Result<Vec<u8>, QueryError> {
    let budget = list.map_or(Ns::ZERO, |list| list.budget);
    let rows: Vec<Vec<Value>> = (1i64..)
        .zip(list.into_iter().flat_map(FrameList::slowest))
        .map(|(rank, frame)| {
            let took = frame.span.len();
            vec![
                rank.into(),
                frame.span.start.into(),
                frame.span.end.into(),
                took.into(),
                (took - budget).into(),
                frame.thread.into(),
                frame.name.into(),
                frame.number.and_then(|number| i64::try_from(number).ok()).into(),
            ]
        })
        .collect();
    let metadata = list.map_or(Vec::new(), |list| {
        vec![
            ("budget_ns", list.budget.0.to_string()),
            ("median_ns", list.median.0.to_string()),
            ("frames", list.frames.to_string()),
            ("over", list.over.to_string()),
            ("bar_ns", list.bar.0.to_string()),
            ("bars", json!(list.bars).to_string()),
        ]
    });
    answer::rows_with_metadata(&COLUMNS, &rows, &metadata).map_err(|e| QueryError::Failed(e.to_string()))
}

/// Encodes the causes of a frame of a list.
fn causes_of(
    session: &Session,
    lists: &FrameLists,
    query: &List,
    cancelled: &dyn Fn() -> bool,
) -> Result<Vec<u8>, QueryError> {
    let at = query.rank.and_then(|rank| rank.checked_sub(1));
    let at = at.ok_or_else(|| QueryError::Invalid("`rank` must be given, from 1".into()))?;
    let none = || QueryError::Invalid("there is no frame with this rank".into());
    let list = lists.get(session, query)?.filter(|list| at < list.slowest().count()).ok_or_else(none)?;
    encoded_causes(session, &list, at, cancelled)
}

/// Encodes the causes of the frame at an index of a list, from 0.
pub(crate) fn encoded_causes(
    session: &Session,
    list: &FrameList,
    at: usize,
    cancelled: &dyn Fn() -> bool,
) -> Result<Vec<u8>, QueryError> {
    let mut rows = Vec::new();
    let def = session.frame_causes(list, at, &mut |more| {
        rows.extend_from_slice(more);
        if cancelled() { Err(std::io::ErrorKind::BrokenPipe.into()) } else { Ok(()) }
    });
    let def = def.map_err(|e| QueryError::Failed(e.to_string()))?;
    answer::rows(def, &rows).map_err(|e| QueryError::Failed(e.to_string()))
}

/// Encodes the first pieces of the critical path to the end of a thread, as in the table `critical_path`; the metadata have the number
/// of all pieces.
fn path_of(session: &Session, query: &Path, cancelled: &dyn Fn() -> bool) -> Result<Vec<u8>, QueryError> {
    let Path { from, to, thread } = *query;
    if from >= to {
        return Err(QueryError::Invalid("`to` must be greater than `from`".into()));
    }
    let whole = Span { start: Ns::ZERO, end: Ns(session.summary().span_ns) };
    let span = Span { start: Ns(from), end: Ns(to) };
    let span = span.overlap(whole).ok_or_else(|| QueryError::Invalid("this time is outside the recording".into()))?;
    let (mut rows, mut all) = (Vec::new(), 0usize);
    let read = session.path_rows(&[PathWindow { span, thread }], &mut |more| {
        all += more.len();
        let room = MAX_PIECES - rows.len();
        rows.extend(more.iter().take(room).cloned());
        if cancelled() { Err(std::io::ErrorKind::BrokenPipe.into()) } else { Ok(()) }
    });
    read.map_err(|e| QueryError::Failed(e.to_string()))?;
    answer::rows_with_metadata(&tables::CRITICAL_PATH, &rows, &[("rows", all.to_string())])
        .map_err(|e| QueryError::Failed(e.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_have_the_names_that_requests_use() {
        for source in [
            FrameSource::Log,
            FrameSource::Marks("a:b *".to_owned()),
            FrameSource::Thread(IntervalKind::Period, ThreadKey(7)),
            FrameSource::Thread(IntervalKind::Request, ThreadKey(-1)),
            FrameSource::Regions(None, "omp:x".to_owned()),
            FrameSource::Regions(Some(3), String::new()),
        ] {
            let of = described(&FrameGroup { source: source.clone(), count: 1, looks_like: None })["of"].clone();
            assert_eq!(of.as_str().and_then(source_of), Some(source), "{of}");
        }
        for of in ["", "mark", "period:x", "region:1", "region:x:y", "other:1"] {
            assert_eq!(source_of(of), None, "{of}");
        }
    }
}
