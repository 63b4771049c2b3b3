//! `/v1/ken/evals/jobs`: policies measured on questions, as a job.

use std::path::Path;
use std::sync::Arc;

use super::call::{Call, JsonBody};
use super::jobs;
use super::reply::Reply;
use crate::service::library::evaluation::{Evaluation, QUESTIONS};
use crate::service::library::job::{Job, Work};
use crate::service::library::measurer::Purpose;
use crate::service::library::stores::is_name;
use crate::service::library::{measuring, new_id};
use crate::service::policies;
use crate::service::search_options::SearchOptions;
use crate::wire::body::lines_of;
use crate::wire::evaluation::{MeasureKind, MeasureRequest};
use crate::wire::jobs::JobObject;
use crate::wire::refusal::Refusal;

/// The most policies that are compared at once.
const MOST_POLICIES: usize = 16;

/// What questions without a name are called.
const UNNAMED: &str = "questions";

/// What those are called that were collected here.
const COLLECTED: &str = "collected";

/// The digits by which two studies of the same questions are told apart.
const DIGITS: usize = 6;

/// Begins to measure.
pub(crate) async fn begin(
    call: Call,
    body: JsonBody<MeasureRequest>,
) -> Result<Reply<JobObject>, Refusal> {
    call.caller().must_read_all("measurements are")?;
    let asked = body.read().await?;
    let job = call.blocking(move |call| submit(call, asked)).await?;
    Ok(jobs::begun(&job))
}

fn submit(call: &Call, asked: MeasureRequest) -> Result<Arc<Job>, Refusal> {
    let served = &call.served;
    let library = served.library()?;
    served.studies()?;
    let corpus = SearchOptions::of(asked.corpus.clone()).some_corpus(served, call.caller())?;
    let id = new_id("job_");
    let evaluation = evaluation(&asked, &id)?;
    let purpose = evaluation.purpose()?;
    let pipeline = measuring::pipeline(served, &corpus.name)?;
    if let Purpose::Compare(policies) = &purpose {
        policies.iter().try_for_each(|policy| {
            let usable = policies::check_measurable(*policy, &pipeline);
            usable.map_err(|error| Refusal::from(error).of("policies"))
        })?;
    }
    let sent = library.measurements.sent(&id);
    let checked = write(call, asked.questions, &sent).and_then(|()| {
        let questions = sent.join(QUESTIONS);
        let checked = (library.tools.measurer).check(&questions, &purpose, &pipeline);
        checked.map_err(|error| {
            let error = error.without(&sent);
            Refusal::bad(error.kind, error.message).of("questions")
        })
    });
    let work = match purpose {
        Purpose::Tune => Work::Tune(evaluation),
        Purpose::Compare(_) => Work::Compare(evaluation),
    };
    let (jobs, key) = (&library.measurements, call.caller().key());
    let job = checked.and_then(|()| jobs.submit(id, &corpus.name, work, key));
    if job.is_err() {
        // What stays is removed when the server starts again.
        let _ = ken_storage::remove(&sent);
    }
    job
}

/// Writes the questions that are given, or those that were collected, into the folder of a job.
fn write(call: &Call, given: Option<String>, folder: &Path) -> Result<(), Refusal> {
    let questions = match given {
        Some(questions) => questions.into_bytes(),
        None => lines_of(call.served.evals.all(call.caller()).into_iter()),
    };
    if questions.is_empty() {
        let message = "no questions are given, and none were collected here: send some, or collect them from traces";
        return Err(Refusal::bad("no_questions", message).of("questions"));
    }
    ken_storage::create_plain_dir_all(folder)?;
    Ok(ken_storage::replace(&folder.join(QUESTIONS), &questions)?)
}

/// What is to be measured, under a name of its own.
fn evaluation(asked: &MeasureRequest, id: &str) -> Result<Evaluation, Refusal> {
    let bad = |param: &str, message: &str| Err(Refusal::invalid(param, message));
    let count = asked.policies.len();
    let kind = match asked.kind {
        MeasureKind::Tune if count > 0 => {
            return bad(
                "policies",
                "tuning tries policies of its own: leave them out, or compare",
            );
        }
        MeasureKind::Compare if !(1..=MOST_POLICIES).contains(&count) => {
            return bad(
                "policies",
                "from 1 to 16 policies are compared, such as never, always and certainty",
            );
        }
        MeasureKind::Tune => "tune",
        MeasureKind::Compare => "policies",
    };
    let name = match (&asked.name, &asked.questions) {
        (Some(name), _) => name.as_str(),
        (None, Some(_)) => UNNAMED,
        (None, None) => COLLECTED,
    };
    if !is_name(name) {
        return bad(
            "name",
            "a name has up to 64 letters, digits, `-` and `_`, and begins with none of these signs",
        );
    }
    let own = &id[id.len().saturating_sub(DIGITS)..];
    Ok(Evaluation {
        study: format!("{name}.{kind}.{own}"),
        name: name.to_owned(),
        policies: asked.policies.clone(),
    })
}
