//! stub
use crate::Run;
use engine::{EngineError, Session};
use std::path::Path;
pub fn printed(_: &Path) -> Result<Option<Run>, EngineError> { Ok(None) }
pub fn frames(_: &Session, _: &str) -> Result<Run, EngineError> { Err(EngineError::Other("no".to_owned())) }
