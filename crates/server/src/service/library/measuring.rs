//! Measuring policies on questions as a job: one question after the other, each when nobody else waits, or when it has
//! waited for long itself.

use std::sync::Arc;
use std::time::Duration;

use ken_answer::{Pipeline, Policy};
use ken_language::CancelToken;
use tokio::runtime::Handle;

use super::job::Job;
use super::measurer::{Measured, Measurement, Measurer};
use super::tool_error::ToolError;
use crate::service::corpora;
use crate::service::gate::{Gate, Patience};
use crate::service::resources::Served;
use crate::service::search_options::SearchOptions;
use crate::wire::refusal::Refusal;

/// How long a question waits until nothing else is answered, and then until nothing else waits; after that it waits as
/// everybody does.
const PATIENCE: Patience = Patience {
    idle: Duration::from_secs(1),
    room: Duration::from_secs(10),
};

/// The pipeline that answers people from a corpus.
///
/// # Errors
/// A corpus that is not served, or that cannot be searched.
pub(crate) fn pipeline(served: &Served, corpus: &str) -> Result<Pipeline, Refusal> {
    let found = served.corpora.find(Some(corpus), None)?;
    let opened = found.ok_or_else(|| corpora::unknown(corpus))?;
    let search = SearchOptions::of(Some(corpus.to_owned()));
    let retriever = search.retriever(served, &[opened])?;
    Ok(served.pipeline().over(retriever)?)
}

/// Measures at the gate of questions; returns the policy that is chosen, where one is to be.
///
/// # Errors
/// Those of the measurer.
pub(super) fn run(
    measurer: &dyn Measurer,
    work: Measurement<'_>,
    job: &Job,
    gate: &Gate,
    runtime: &Handle,
) -> Result<Option<Policy>, ToolError> {
    let token = CancelToken::raised_by(Arc::clone(&job.stop));
    let work = Measurement {
        pipeline: work.pipeline.bound(&token),
        ..work
    };
    let mut place = None;
    let mut progress = |measured: Measured| {
        job.measured(measured);
        // Given back before it is asked for again, so that people come first.
        drop(place.take());
        if measured.done < measured.total {
            let turn = gate.turn(PATIENCE, || job.is_cancelled());
            place = runtime.block_on(turn);
        }
    };
    measurer.measure(work, &mut progress, &job.stop)
}
