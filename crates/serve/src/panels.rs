//! What the panels ask: findings, tables of a part, what is searched for, chains of wakings.

use crate::asked::{Chain, Hits, Part};
use crate::routes::{App, arrow, no_question, unanswered};
use crate::{chain, hits, part};
use axum::Router;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use std::sync::Arc;

const JSON: &str = "application/json";

pub(crate) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/api/findings", get(findings))
        .route("/api/tables", get(tables))
        .route("/api/part/{name}", get(part_of))
        .route("/api/hits", get(hits_of))
        .route("/api/chain", get(chain_of))
}

async fn findings(State(app): State<Arc<App>>) -> Response {
    match app.findings.told(&app.times) {
        Ok(Some(told)) => ([(CONTENT_TYPE, JSON)], told.to_string()).into_response(),
        Ok(None) => (StatusCode::ACCEPTED, "the recording is being diagnosed: ask again\n").into_response(),
        Err(why) => unanswered(&why),
    }
}

async fn tables(State(app): State<Arc<App>>) -> Response {
    match app.moments.ask(|session, _| Ok(part::tables(session))).await {
        Ok(tables) => ([(CONTENT_TYPE, JSON)], tables.to_string()).into_response(),
        Err(why) => unanswered(&why),
    }
}

async fn part_of(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    asked: Result<Query<Part>, QueryRejection>,
) -> Response {
    match asked {
        Ok(Query(asked)) => arrow(app.times.ask(move |session, left| part::part(session, &name, &asked, left)).await),
        Err(why) => no_question(&why.body_text()),
    }
}

async fn hits_of(State(app): State<Arc<App>>, asked: Result<Query<Hits>, QueryRejection>) -> Response {
    let of = Arc::clone(&app);
    match asked {
        Ok(Query(asked)) => {
            arrow(app.times.ask(move |session, left| hits::hits(session, &of.tracks, &asked, left)).await)
        }
        Err(why) => no_question(&why.body_text()),
    }
}

async fn chain_of(State(app): State<Arc<App>>, asked: Result<Query<Chain>, QueryRejection>) -> Response {
    match asked {
        Ok(Query(asked)) => arrow(app.moments.ask(move |session, left| chain::chain(session, &asked, left)).await),
        Err(why) => no_question(&why.body_text()),
    }
}
