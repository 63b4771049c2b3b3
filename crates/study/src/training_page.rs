//! A training run as one page of HTML: the loss, the learning rate and the gradient norm by step.

use ken_train::History;

use crate::page::{Axis, Diagram, figure, page};

/// Colors that are distinct to most people, after Okabe and Ito.
const TRAINING: &str = "#56b4e9";
const VALIDATION: &str = "#d55e00";

/// The page.
pub(crate) fn training_to_html(title: &str, history: &History) -> String {
    let tokens: usize = history.steps.iter().map(|step| step.tokens).sum();
    let seconds: f64 = history.steps.iter().map(|step| step.seconds).sum();
    let mut body = format!(
        "<p>{} steps, {tokens} tokens, {seconds:.0} s, {:.0} tokens/s.</p>\n",
        history.steps.len(),
        history.tokens_per_second(),
    );
    let of = |value: &dyn Fn(&ken_train::StepRecord) -> f64| -> Vec<(f64, f64)> {
        let steps = history.steps.iter();
        steps.map(|step| (step.step as f64, value(step))).collect()
    };
    let validations: Vec<(f64, f64)> = history
        .validations
        .iter()
        .map(|one| (one.step as f64, one.loss))
        .collect();
    body += "<h2>Loss</h2>\n";
    body += &diagram("loss, nats", &of(&|step| step.loss), &validations);
    body += "<h2>Learning rate</h2>\n";
    let millionths = of(&|step| 1e6 * step.learning_rate);
    body += &diagram("learning rate, millionths", &millionths, &[]);
    body += "<h2>Norm of the gradients</h2>\n";
    body += &diagram("norm", &of(&|step| step.gradient_norm), &[]);
    page(title, &body)
}

fn diagram(name: &str, training: &[(f64, f64)], validation: &[(f64, f64)]) -> String {
    let values = |place: fn(&(f64, f64)) -> f64| -> Vec<f64> {
        training.iter().chain(validation).map(place).collect()
    };
    let across = values(|point| point.0);
    let up = values(|point| point.1);
    let (across, up) = (Axis::around("step", &across), Axis::around(name, &up));
    let mut diagram = Diagram::new(720.0, 300.0, across, up);
    diagram.line("training", training, TRAINING, false);
    diagram.legend("training", TRAINING);
    if !validation.is_empty() {
        diagram.line("validation", validation, VALIDATION, false);
        diagram.legend("validation", VALIDATION);
    }
    figure(name, &diagram, "")
}

#[cfg(test)]
mod tests {
    use super::*;
    use ken_train::{StepRecord, ValidationRecord};

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
        assert!(page.contains("<h1>A &amp; B</h1>"), "{page}");
        assert!(
            page.contains("4 steps, 400 tokens, 2 s, 200 tokens/s"),
            "{page}"
        );
        assert_eq!(page.matches("<svg").count(), 3);
        let points = page.split("points=\"").nth(1).unwrap();
        let points = points.split('"').next().unwrap();
        assert_eq!(points.split_whitespace().count(), 4, "{points}");
        assert!(training_to_html("none", &History::default()).contains("0 steps"));
    }
}
