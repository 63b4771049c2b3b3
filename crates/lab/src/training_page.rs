//! A page of a training run: the loss, the learning rate and the gradient norm by step.

use ken_report::{Axis, Figure, Report, Section, Series};
use ken_train::{History, StepRecord};

/// The page.
pub(crate) fn training_to_html(title: &str, history: &History) -> String {
    let tokens: usize = history.steps.iter().map(|step| step.tokens).sum();
    let seconds: f64 = history.steps.iter().map(|step| step.seconds).sum();
    let text = format!(
        "{} steps, {tokens} tokens, {seconds:.0} s, {:.0} tokens/s.",
        history.steps.len(),
        history.tokens_per_second(),
    );
    let validations = history
        .validations
        .iter()
        .map(|validation| (validation.step as f64, validation.loss));
    let by_step = |name: &str, axis: &str, value: fn(&StepRecord) -> f64| {
        let points = history
            .steps
            .iter()
            .map(|step| (step.step as f64, value(step)));
        let axes = [Axis::around("step"), Axis::around(axis)];
        Figure::new(name, "", axes, [Series::line("training", 0, points)])
    };
    let mut loss = by_step("loss", "loss, nats", |step| step.loss);
    let validation = Series::line("validation", 1, validations);
    loss.series
        .extend((!validation.points.is_empty()).then_some(validation));
    let rate = by_step("learning-rate", "learning rate, millionths", |step| {
        1e6 * step.learning_rate
    });
    let norm = by_step("norm", "norm", |step| step.gradient_norm);
    let sections = [
        ("Loss", loss),
        ("Learning rate", rate),
        ("Norm of the gradients", norm),
    ];
    let sections = sections.map(|(heading, figure)| Section::part(heading, [figure.into()]));
    Report::new(
        title,
        std::iter::once(Section::Text(text)).chain(sections.concat()),
    )
    .html()
}

#[cfg(test)]
mod tests {
    use ken_testing::says;

    use super::*;
    use ken_train::ValidationRecord;

    #[test]
    fn every_step_is_a_point() {
        let step = |step: usize| StepRecord {
            step,
            loss: 3.0 / step as f64,
            learning_rate: 1e-3,
            gradient_norm: 1.0,
            tokens: 100,
            seconds: 0.5,
        };
        let history = History {
            steps: (1..=4).map(step).collect(),
            validations: vec![ValidationRecord { step: 4, loss: 1.0 }],
        };
        let page = training_to_html("A & B", &history);
        says!(page => "<h1>A &amp; B</h1>", "4 steps, 400 tokens, 2 s, 200 tokens/s");
        assert_eq!(page.matches("<figure").count(), 3);
        assert_eq!(page.matches("<td>training</td>").count(), 3 * 4, "{page}");
        assert!(training_to_html("none", &History::default()).contains("0 steps"));
    }
}
