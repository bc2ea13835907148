//! The hub on tokio, with closures as tools and a paused clock: what a caller in Rust sees.
#![allow(clippy::panic, reason = "helpers of tests may fail a test")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use crate::support::runs_tools::RunsTools as _;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use toolhub::error::{ErrorKind, HubError, Outcome};
use toolhub::execute::{Decision, Fate};
use toolhub::hub::{Hub, HubOptions, RunReport};
use toolhub::model::{Arguments, CallOptions, Effects, Evidence, Source, Strategy, ToolSpec};

pub(crate) mod doubles;
mod ends;
mod finding;
mod learning;
mod limits;
mod safety;
mod strategies;

use doubles::{Double, Stage};

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn hub() -> Arc<Hub> {
    Arc::new(Hub::new(HubOptions { seed: Some(7), ..HubOptions::default() }))
}

fn asking(strategy: Strategy) -> CallOptions {
    CallOptions { strategy: Some(strategy), ..CallOptions::default() }
}

/// Calls without arguments.
async fn call(hub: &Hub, name: &str, options: &CallOptions) -> RunReport {
    hub.execute(name, Arguments::default(), options, &CancellationToken::new()).await.unwrap()
}

fn fates(execution: &RunReport) -> Vec<Fate> {
    (0..execution.plan.candidates.len()).map(|slot| execution.plan.run.fate(slot)).collect()
}

/// The labels of the candidates, in the order in which they would be tried now.
fn order(hub: &Hub, name: &str) -> Vec<String> {
    let now = tokio::time::Instant::now().into_std();
    let plan = hub.plan_by_name(&hub.registry.snapshot(), name, &CallOptions::default(), now).unwrap();
    plan.candidates.iter().map(|candidate| candidate.label()).collect()
}
