//! The routes for panels: findings, tables for a part, the search, chains of wakeups.

use crate::query::{Chain, Hits, Part};
use crate::routes::{App, arrow, bad_request, query_error};
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
    match app.findings.get(&app.computations) {
        Ok(Some(findings)) => ([(CONTENT_TYPE, JSON)], findings.to_string()).into_response(),
        Ok(None) => (StatusCode::ACCEPTED, "the recording is being diagnosed: try again\n").into_response(),
        Err(why) => query_error(&why),
    }
}

async fn tables(State(app): State<Arc<App>>) -> Response {
    match app.lookups.ask(|session, _| Ok(part::tables(session))).await {
        Ok(tables) => ([(CONTENT_TYPE, JSON)], tables.to_string()).into_response(),
        Err(why) => query_error(&why),
    }
}

async fn part_of(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    query: Result<Query<Part>, QueryRejection>,
) -> Response {
    match query {
        Ok(Query(query)) => {
            arrow(app.computations.ask(move |session, cancelled| part::part(session, &name, &query, cancelled)).await)
        }
        Err(why) => bad_request(&why.body_text()),
    }
}

async fn hits_of(State(app): State<Arc<App>>, query: Result<Query<Hits>, QueryRejection>) -> Response {
    let of = Arc::clone(&app);
    match query {
        Ok(Query(query)) => arrow(
            app.computations.ask(move |session, cancelled| hits::hits(session, &of.tracks, &query, cancelled)).await,
        ),
        Err(why) => bad_request(&why.body_text()),
    }
}

async fn chain_of(State(app): State<Arc<App>>, query: Result<Query<Chain>, QueryRejection>) -> Response {
    match query {
        Ok(Query(query)) => {
            arrow(app.lookups.ask(move |session, cancelled| chain::chain(session, &query, cancelled)).await)
        }
        Err(why) => bad_request(&why.body_text()),
    }
}
