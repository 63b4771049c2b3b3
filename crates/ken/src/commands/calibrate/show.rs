//! The chosen thresholds and their effect, as text or as JSON.

use ken_hub::DEFAULT_GENERATOR;
use ken_policy::{Goal, Graded, Policy, RoutingModel, Rule, Signal};
use serde_json::{Value, json};

use super::{Chosen, is_of_two};
use crate::failure::Result;
use crate::output::{self, share};
use crate::shell::for_a_shell;

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
    let (one, two) = (shape == Shape::One, shape == Shape::Two);
    let (graded, abstaining) = (shape == Shape::Graded, shape == Shape::Abstaining);
    let is_met = calibration.is_met || !abstaining;
    let if_met = |value: Value| if is_met { value } else { Value::Null };
    let bounded = |estimate: f64| json!({ "estimate": estimate, "bound": calibration.bound });
    let [first, second] = found_thresholds(shape, chosen);
    let n = if is_met {
        calibration.questions
    } else {
        observed.observations.len()
    };
    let abstain = arguments.abstain.map(|signal| signal.name);
    let grades: Value = calibration.each_k.iter().map(grade_as_json).collect();
    let answered = if_met(json!(calibration.coverage()));
    let from_memory = if_met(json!(calibration.from_memory()));
    let wrong = if_met(bounded(calibration.error()));
    let withheld = if_met(json!(calibration.right_abstentions()));
    let ratio = json!(retrieval_ratio(shape, chosen));
    let fields = [
        (true, "policy", json!(arguments.policy.to_string())),
        (abstaining, "abstain", json!(abstain)),
        (!graded, "threshold", if_met(json!(first))),
        (two, "evidence_threshold", json!(second)),
        (abstaining, "abstain_threshold", if_met(json!(second))),
        (abstaining, "is_kept", json!(is_met)),
        (graded, "calibrated", json!(chosen.policy().to_string())),
        (graded, "grades", grades),
        (true, "samples", json!(arguments.samples)),
        (graded, "mean_k", json!(calibration.mean_k())),
        (graded, "always_k", json!(chosen.always_k)),
        (abstaining, "answered", answered),
        (abstaining, "from_memory", from_memory),
        (abstaining, "answered_wrong", wrong),
        (abstaining, "right_abstentions", withheld),
        (!abstaining, "retrieval_ratio", ratio),
        (two, "evidence_ratio", json!(calibration.evidence_ratio())),
        (!abstaining, "loss", bounded(calibration.loss())),
        (!abstaining, "accuracy", json!(calibration.accuracy())),
        (!abstaining, "always_accuracy", json!(calibration.always)),
        (one, "auroc", json!(observed.auroc())),
        (true, "n", json!(n)),
        (true, "left_out", json!(observed.left_out)),
        (true, "cannot_tell", json!(observed.cannot_tell())),
        (one, "needed", json!(calibration.needed)),
    ];
    let shown = fields.into_iter().filter(|(is_shown, ..)| *is_shown);
    let shown = shown.map(|(_, key, value)| (key.to_owned(), value));
    Value::Object(shown.collect())
}

fn grade_as_json(grade: &Graded) -> Value {
    json!({
        "k": grade.k,
        "least_probability": grade.least_probability,
        "share": grade.share,
        "memory_right": grade.memory,
        "accuracy": grade.accuracy,
        "always_accuracy": grade.always,
    })
}

/// The threshold of the question, or of the evidence if that alone decides, and the one of the next step.
fn found_thresholds(shape: Shape, chosen: &Chosen<'_>) -> [Option<f64>; 2] {
    let Policy { retrieve, keep, .. } = chosen.calibration.policy;
    let abstain = chosen.calibration.abstain;
    match shape {
        Shape::Abstaining => [retrieve.threshold(), abstain.and_then(|own| own.threshold)],
        Shape::Two => [retrieve.threshold(), keep.threshold()],
        Shape::One | Shape::Graded => [retrieve.threshold().or(keep.threshold()), None],
    }
}

/// The share of questions that retrieve or, with a signal of the evidence, whose evidence is used.
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
    let graded = shape == Shape::Graded;
    let bounded = |share: f64| {
        let (share, bound) = (percent(share), percent(calibration.bound));
        let confidence = arguments.goal().confidence();
        format!("{share}, at most {bound} with confidence {confidence}")
    };
    let mut rows = vec![("policy", arguments.policy.to_string())];
    rows.extend(
        arguments
            .abstain
            .map(|signal| ("abstain", signal.to_string())),
    );
    rows.extend(thresholds(shape, chosen));
    if shape == Shape::Abstaining {
        let right = calibration.right_abstentions();
        let right = right.map_or("none is withheld".to_owned(), percent);
        rows.extend([
            ("answered", percent(calibration.coverage())),
            ("from memory", percent(calibration.from_memory())),
            ("wrong among answered", bounded(calibration.error())),
            ("withheld answers that are wrong", right),
        ]);
    } else {
        let of_evidence = shape == Shape::One && arguments.policy.searches_by().is_none();
        let ratio = if of_evidence {
            "evidence used"
        } else {
            "retrieval ratio"
        };
        let results = |mean: f64| format!("{mean:.2} on average, of {}", chosen.always_k);
        rows.extend(graded.then(|| ("search results", results(calibration.mean_k()))));
        rows.push((ratio, percent(retrieval_ratio(shape, chosen))));
        let used = || ("evidence used", percent(calibration.evidence_ratio()));
        rows.extend((shape == Shape::Two).then(used));
        let [own, always] = [calibration.accuracy(), calibration.always].map(percent);
        rows.push(("accuracy", format!("{own}, always {always}")));
        rows.push(("lost, gains not counted", bounded(calibration.loss())));
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
    const QUESTION: &str = "threshold of the question";
    const USED: &str = "evidence above it is used";
    const RETRIEVE: &str = "questions above it retrieve";
    const RETRIEVES: &str = "every question retrieves";
    const NEEDS: &str = "every question needs its evidence";
    let [first, second] = found_thresholds(shape, chosen);
    let above = chosen
        .arguments
        .abstain
        .is_some_and(Signal::weighs_evidence);
    let given = if above {
        "above it an answer with evidence is given"
    } else {
        "up to it an answer with evidence is given"
    };
    let memory = "up to it questions are answered from memory";
    let twice = "questions above it retrieve; evidence is used where they are not, once it is read";
    let rows = match (shape, chosen.arguments.policy.keep) {
        (Shape::Graded, _) => Vec::new(),
        (Shape::Abstaining, _) => vec![
            (QUESTION, first, memory, RETRIEVES),
            (
                "threshold of the answer",
                second,
                given,
                "every answer is given",
            ),
        ],
        (Shape::Two, Rule::Settled) => vec![("threshold", first, twice, NEEDS)],
        (Shape::Two, _) => vec![
            (QUESTION, first, RETRIEVE, RETRIEVES),
            (
                "threshold of the evidence",
                second,
                USED,
                "all evidence is used",
            ),
        ],
        (Shape::One, Rule::Always) => vec![("threshold", first, RETRIEVE, NEEDS)],
        (Shape::One, _) => vec![("threshold", first, USED, NEEDS)],
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
    let thresholds = calibration.policy.retrieve.thresholds().unwrap_or_default();
    let last = thresholds.len();
    let grades = calibration.each_k.iter().enumerate();
    let grades = grades.filter(|(grade, at_k)| at_k.share > 0.0 || *grade == last);
    let rows = grades.map(|(grade, at_k)| {
        let threshold = thresholds.get(grade).filter(|value| value.is_finite());
        let least = at_k.least_probability;
        vec![
            at_k.k.to_string(),
            least.map_or("less".to_owned(), |least| format!("at least {least:.3}")),
            threshold.map_or_else(|| "-".to_owned(), f64::to_string),
            percent(at_k.share),
            share(at_k.memory),
            share(at_k.accuracy),
            share(at_k.always),
        ]
    });
    let names = "k|where memory is right with|signal up to|questions|memory right|accuracy|always";
    output::columns(names, rows)
}

/// Shows the questions that do not count for a threshold, and those of which a signal cannot tell.
fn show_aside(chosen: &Chosen<'_>) -> Result<()> {
    let observed = &chosen.observed;
    if observed.left_out > 0 {
        let questions = output::counted(observed.left_out, "question");
        output::line(format!("{questions} could not be used"))?;
    }
    let count = observed.cannot_tell();
    if count > 0 {
        let questions = output::counted(count, "question");
        output::line(format!(
            "of {questions} a signal cannot tell: the careful side is taken at every threshold"
        ))?;
    }
    Ok(())
}

/// The flags under which the policy is used and watched.
fn show_use(chosen: &Chosen<'_>) -> Result<()> {
    let (policy, arguments) = (chosen.policy(), chosen.arguments);
    let abstain = flag("abstain", chosen.calibration.abstain);
    let k = arguments.policy.is_graded().then_some(chosen.always_k);
    let k = flag("k", k);
    let flags = flags(chosen);
    output::line(format!(
        "to use it: ken ask --policy {policy}{k}{abstain}{flags} QUESTION"
    ))?;
    if let Some(out) = &arguments.out {
        let (named, out) = (named(chosen), flag("calibration", Some(out.display())));
        output::line(format!(
            "to watch it: ken serve --policy {policy}{abstain}{named}{out}"
        ))?;
    }
    Ok(())
}

/// The samples and the routing models that the signals take, the model and the corpus.
fn flags(chosen: &Chosen<'_>) -> String {
    let settings = chosen.session.settings;
    let is_sampled = chosen.signals().any(Signal::is_of_samples);
    let samples = flag("samples", is_sampled.then_some(chosen.arguments.samples));
    let of_model = |model: RoutingModel| {
        let path = match model {
            RoutingModel::Router => settings.router.as_ref(),
            RoutingModel::Assessor => settings.kbm.as_ref(),
            RoutingModel::Datastore => settings.datastore.as_ref(),
            RoutingModel::Gate => settings.gate.as_ref(),
        };
        flag(model.setting(), path.map(|path| path.display()))
    };
    let models = chosen.signals().filter_map(|signal| signal.told_by);
    let mut models: Vec<RoutingModel> = models.collect();
    if models.contains(&RoutingModel::Router) {
        models.push(RoutingModel::Assessor);
    }
    let models: String = models.into_iter().map(of_model).collect();
    format!("{samples}{models}{}", named(chosen))
}

/// The flags that name the model and the corpus, if they are not the defaults.
fn named(chosen: &Chosen<'_>) -> String {
    let settings = chosen.session.settings;
    let model = Some(settings.model.to_string()).filter(|model| model != DEFAULT_GENERATOR);
    flag("model", model) + &flag("corpus", settings.corpus.as_ref())
}

/// A flag with its value, or nothing.
fn flag(name: &str, value: Option<impl ToString>) -> String {
    let value = value.map(|value| value.to_string());
    value.map_or_else(String::new, |value| {
        format!(" --{name} {}", for_a_shell(&value))
    })
}

fn percent(share: f64) -> String {
    format!("{:.1}%", 100.0 * share)
}
