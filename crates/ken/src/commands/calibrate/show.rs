//! What was chosen, and what that does, as text or as JSON.

use ken_policy::{Goal, Policy, RoutingModel, Rule, Signal};
use serde_json::{Map, Value, json};

use super::{Chosen, is_of_two};
use crate::failure::Result;
use crate::output::{self, share};

/// How many signals decide, and on what.
#[derive(Clone, Copy, PartialEq)]
enum Shape {
    /// One signal, of the question or of the evidence.
    One,
    /// Two, or one that judges twice.
    Two,
    /// One between several values of k.
    Graded,
    /// One of the question, and one by which answers are withheld.
    Abstaining,
}

impl Shape {
    fn of(chosen: &Chosen<'_>) -> Self {
        let policy = &chosen.arguments.policy;
        if chosen.arguments.abstain.is_some() {
            Self::Abstaining
        } else if policy.is_graded() {
            Self::Graded
        } else if is_of_two(policy) {
            Self::Two
        } else {
            Self::One
        }
    }
}

pub(super) fn show(chosen: &Chosen<'_>) -> Result<()> {
    let shape = Shape::of(chosen);
    if chosen.session.json {
        return output::json(&as_json(shape, chosen));
    }
    let Chosen {
        calibration,
        arguments,
        observed,
        ..
    } = chosen;
    let questions = calibration.questions;
    if let (Goal::Errors { max_error, .. }, false) = (arguments.goal(), calibration.is_met) {
        output::line(format!(
            "At most {} wrong among the answers given cannot be promised with {} questions: more of them, a \
             larger --max-error, or other signals may do.",
            percent(max_error),
            observed.observations.len()
        ))?;
        return show_aside(chosen);
    }
    output::pairs(rows(shape, chosen))?;
    show_grades(chosen)?;
    let is_chosen = calibration.policy != Policy::ALWAYS || shape == Shape::Abstaining;
    if is_chosen {
        show_use(chosen)?;
    }
    match shape {
        _ if is_chosen => {}
        Shape::Two if chosen.is_promise() => output::line(format!(
            "The guarantee cannot be kept with {questions} questions."
        ))?,
        Shape::Graded if chosen.is_promise() => output::line(format!(
            "The guarantee cannot be kept with {questions} questions: more of them, or a larger --max-loss, may do."
        ))?,
        Shape::Graded => output::line(format!(
            "No thresholds between these values of k keep that: end with {}.",
            chosen.always_k
        ))?,
        _ => {}
    }
    show_aside(chosen)?;
    if shape == Shape::One && !is_chosen && chosen.is_promise() {
        output::line(match calibration.needed {
            Some(needed) => format!(
                "The guarantee cannot be kept with {questions} questions; about {needed} like these would be needed."
            ),
            None => {
                "The guarantee cannot be kept with any number of questions like these.".to_owned()
            }
        })?;
    }
    Ok(())
}

fn as_json(shape: Shape, chosen: &Chosen<'_>) -> Value {
    let Chosen {
        calibration,
        arguments,
        observed,
        ..
    } = chosen;
    let (policy, abstain) = (&arguments.policy, arguments.abstain);
    let is_met = calibration.is_met || shape != Shape::Abstaining;
    let if_met = |value: Value| if is_met { value } else { Value::Null };
    let estimate = |estimate: f64| json!({ "estimate": estimate, "bound": calibration.bound });
    let (graded, abstaining) = (shape == Shape::Graded, shape == Shape::Abstaining);
    let threshold = match shape {
        Shape::Two => calibration.policy.retrieve.threshold(),
        _ => calibration.policy.threshold(),
    };
    let grades = calibration.each_k.iter().map(|one| {
        json!({
            "k": one.k,
            "least_probability": one.least_probability,
            "share": one.share,
            "memory_right": one.memory,
            "accuracy": one.accuracy,
            "always_accuracy": one.always,
        })
    });
    let n = if is_met {
        calibration.questions
    } else {
        observed.observations.len()
    };
    let fields = [
        (true, "policy", json!(policy.to_string())),
        (
            abstaining,
            "abstain",
            json!(abstain.map(|signal| signal.name)),
        ),
        (!graded, "threshold", if_met(json!(threshold))),
        (
            shape == Shape::Two,
            "evidence_threshold",
            json!(calibration.policy.keep.threshold()),
        ),
        (
            abstaining,
            "abstain_threshold",
            if_met(json!(
                calibration.abstain.and_then(|abstain| abstain.threshold)
            )),
        ),
        (abstaining, "is_kept", json!(is_met)),
        (graded, "calibrated", json!(chosen.policy().to_string())),
        (graded, "grades", grades.collect()),
        (true, "samples", json!(arguments.samples)),
        (
            graded,
            "mean_k",
            json!(calibration.mean(calibration.tally.results)),
        ),
        (graded, "always_k", json!(chosen.always_k)),
        (
            abstaining,
            "answered",
            if_met(json!(calibration.coverage())),
        ),
        (
            abstaining,
            "from_memory",
            if_met(json!(calibration.from_memory())),
        ),
        (
            abstaining,
            "answered_wrong",
            if_met(estimate(calibration.error())),
        ),
        (
            abstaining,
            "right_abstentions",
            if_met(json!(calibration.right_abstentions())),
        ),
        (
            !abstaining,
            "retrieval_ratio",
            json!(retrieval_ratio(shape, chosen)),
        ),
        (
            shape == Shape::Two,
            "evidence_ratio",
            json!(calibration.evidence_ratio()),
        ),
        (!abstaining, "loss", estimate(calibration.loss())),
        (!abstaining, "accuracy", json!(calibration.accuracy())),
        (graded, "always_accuracy", json!(calibration.always)),
        (shape == Shape::One, "auroc", json!(observed.auroc())),
        (true, "n", json!(n)),
        (true, "left_out", json!(observed.left_out)),
        (true, "cannot_tell", json!(observed.cannot_tell())),
        (shape == Shape::One, "needed", json!(calibration.needed)),
    ];
    let shown = fields.into_iter().filter(|(is_shown, ..)| *is_shown);
    let fields: Map<String, Value> = shown
        .map(|(_, key, value)| (key.to_owned(), value))
        .collect();
    Value::Object(fields)
}

/// Questions that retrieve; by a signal of the evidence, those whose evidence is used.
fn retrieval_ratio(shape: Shape, chosen: &Chosen<'_>) -> f64 {
    if shape == Shape::One {
        chosen.calibration.evidence_ratio()
    } else {
        chosen.calibration.retrieval_ratio()
    }
}

fn rows(shape: Shape, chosen: &Chosen<'_>) -> Vec<(&'static str, String)> {
    let Chosen {
        calibration,
        arguments,
        ..
    } = chosen;
    let policy = &arguments.policy;
    let abstain = arguments.abstain;
    let mut rows = vec![("policy", policy.to_string())];
    rows.extend(abstain.map(|signal| ("abstain", signal.to_string())));
    if shape != Shape::Graded {
        rows.extend(thresholds(shape, chosen));
    }
    let bounded = |share: f64| {
        let (share, bound) = (percent(share), percent(calibration.bound));
        let confidence = arguments.goal().confidence();
        format!("{share}, at most {bound} with confidence {confidence}")
    };
    let accuracy = percent(calibration.accuracy());
    match shape {
        Shape::Abstaining => {
            let right = calibration.right_abstentions();
            rows.extend([
                ("answered", percent(calibration.coverage())),
                ("from memory", percent(calibration.from_memory())),
                ("wrong among answered", bounded(calibration.error())),
                (
                    "withheld answers that are wrong",
                    right.map_or("none is withheld".to_owned(), percent),
                ),
            ]);
        }
        _ => {
            let mean_k = calibration.mean(calibration.tally.results);
            let results = format!("{mean_k:.2} on average, of {}", chosen.always_k);
            rows.extend((shape == Shape::Graded).then_some(("search results", results)));
            let ratio = percent(retrieval_ratio(shape, chosen));
            let of_evidence = shape == Shape::One && policy.searches_by().is_none();
            rows.push((
                if of_evidence {
                    "evidence used"
                } else {
                    "retrieval ratio"
                },
                ratio,
            ));
            let used = ("evidence used", percent(calibration.evidence_ratio()));
            rows.extend((shape == Shape::Two).then_some(used));
            rows.push((
                "accuracy",
                if shape == Shape::Graded {
                    format!("{accuracy}, always {}", percent(calibration.always))
                } else {
                    accuracy
                },
            ));
            rows.push(("lost against always", bounded(calibration.loss())));
        }
    }
    if shape == Shape::One {
        let area = chosen.observed.auroc();
        let area = area.map_or("undefined".to_owned(), |area| format!("{area:.3}"));
        rows.push(("AUROC of \"retrieval helps\"", area));
    }
    rows.push(("questions", calibration.questions.to_string()));
    rows
}

/// Each threshold, by what it does, or what happens without it.
fn thresholds(shape: Shape, chosen: &Chosen<'_>) -> Vec<(&'static str, String)> {
    const USED: &str = "evidence above it is used";
    const RETRIEVE: &str = "questions above it retrieve";
    let Policy { retrieve, keep, .. } = chosen.calibration.policy;
    let abstain = chosen
        .calibration
        .abstain
        .and_then(|abstain| abstain.threshold);
    let above = chosen
        .arguments
        .abstain
        .is_some_and(Signal::weighs_evidence);
    let (question, evidence) = (retrieve.threshold(), keep.threshold());
    let needs = "every question needs its evidence";
    let rows = match (shape, chosen.arguments.policy.keep) {
        (Shape::Abstaining, _) => vec![
            (
                "threshold of the question",
                question,
                "up to it questions are answered from memory",
                "every question retrieves",
            ),
            (
                "threshold of the answer",
                abstain,
                if above {
                    "above it an answer with evidence is given"
                } else {
                    "up to it an answer with evidence is given"
                },
                "every answer is given",
            ),
        ],
        (Shape::Two, Rule::Settled) => vec![(
            "threshold",
            question,
            "questions above it retrieve; evidence is used where they are not, once it is read",
            needs,
        )],
        (Shape::Two, _) => vec![
            (
                "threshold of the question",
                question,
                RETRIEVE,
                "every question retrieves",
            ),
            (
                "threshold of the evidence",
                evidence,
                USED,
                "all evidence is used",
            ),
        ],
        (_, Rule::Always) => vec![("threshold", question, RETRIEVE, needs)],
        _ => vec![("threshold", evidence, USED, needs)],
    };
    let worded = rows.into_iter().map(|(name, threshold, rule, without)| {
        let text = match threshold {
            Some(threshold) => format!("{threshold} ({rule})"),
            None => format!("none: {without}"),
        };
        (name, text)
    });
    worded.collect()
}

fn show_grades(chosen: &Chosen<'_>) -> Result<()> {
    let calibration = &chosen.calibration;
    if calibration.each_k.is_empty() {
        return Ok(());
    }
    let mut rows = vec![output::head(
        "k|where memory is right with|signal up to|questions|memory right|accuracy|always",
    )];
    let thresholds = calibration.policy.retrieve.thresholds().unwrap_or_default();
    let last = thresholds.len();
    let grades = calibration.each_k.iter().enumerate();
    for (grade, one) in grades.filter(|(grade, one)| one.share > 0.0 || *grade == last) {
        let threshold = thresholds.get(grade).filter(|one| one.is_finite());
        rows.push(vec![
            one.k.to_string(),
            one.least_probability
                .map_or_else(|| "less".to_owned(), |least| format!("at least {least:.3}")),
            threshold.map_or_else(|| "-".to_owned(), f64::to_string),
            percent(one.share),
            share(one.memory),
            share(one.accuracy),
            share(one.always),
        ]);
    }
    output::table(&rows)
}

/// Questions that have no say in a threshold, and those of which a signal cannot tell.
fn show_aside(chosen: &Chosen<'_>) -> Result<()> {
    let observed = &chosen.observed;
    if observed.left_out > 0 {
        output::line(format!("{} questions could not be used", observed.left_out))?;
    }
    let count = observed.cannot_tell();
    if count > 0 {
        output::line(format!(
            "of {count} questions a signal cannot tell: the careful side is taken at every threshold"
        ))?;
    }
    Ok(())
}

/// The flags under which the policy is used and watched.
fn show_use(chosen: &Chosen<'_>) -> Result<()> {
    let (policy, arguments) = (chosen.policy(), chosen.arguments);
    let abstain = chosen.calibration.abstain;
    let abstain = abstain.map_or(String::new(), |abstain| format!(" --abstain {abstain}"));
    let k = if arguments.policy.is_graded() {
        format!(" --k {}", chosen.always_k)
    } else {
        String::new()
    };
    let flags = flags(chosen);
    output::line(format!(
        "to use it: ken ask --policy {policy}{k}{abstain}{flags}"
    ))?;
    if let Some(out) = &arguments.out {
        let out = out.display();
        output::line(format!(
            "to watch it: ken serve --policy {policy}{abstain} --calibration {out}"
        ))?;
    }
    Ok(())
}

/// The samples and the routing models that the signals take.
fn flags(chosen: &Chosen<'_>) -> String {
    let settings = chosen.session.settings;
    let samples = if chosen.signals().any(Signal::is_of_samples) {
        format!(" --samples {}", chosen.arguments.samples)
    } else {
        String::new()
    };
    let flag = |model: RoutingModel| {
        let path = match model {
            RoutingModel::Router => settings.router.as_ref(),
            RoutingModel::Assessor => settings.kbm.as_ref(),
            RoutingModel::Datastore => settings.datastore.as_ref(),
            RoutingModel::Gate => settings.gate.as_ref(),
        };
        path.map(|path| format!(" --{} {}", model.setting(), path.display()))
    };
    let models: Vec<RoutingModel> = chosen.signals().filter_map(|one| one.told_by).collect();
    let mut flags: Vec<String> = models.iter().filter_map(|model| flag(*model)).collect();
    if models.contains(&RoutingModel::Router) {
        flags.extend(flag(RoutingModel::Assessor));
    }
    format!("{samples}{}", flags.concat())
}

fn percent(share: f64) -> String {
    format!("{:.1}%", 100.0 * share)
}
