//! Applying a gate: a head that predicts the worth of the evidence from numbers of the question, its evidence and the
//! model's answers. The head itself is in `ken_policy`.

use ken_policy::{Gated, Head, Input, Measurements, Step, confidence};
use ken_probe::types_by_string;

use crate::error::AnswerError;
use crate::measure::mismatch::Mismatch;
use crate::measure::routing_head::RoutingHead;
use crate::prompt;

/// Whether a gate reads the answer with the evidence, so that the model has to write it first.
pub(crate) fn reads_answer(gate: &RoutingHead) -> bool {
    gate.head.input == Input::EvidenceAndAnswer
}

/// The gate's prediction for the evidence; without a worth if one of its inputs is NaN.
///
/// # Errors
/// A model that does not report log probabilities.
pub(crate) fn weigh(
    gate: &RoutingHead,
    without: &Measurements,
    with: &Measurements,
) -> Result<Gated, AnswerError> {
    let vector = evidence_vector(gate.head.input, without, with);
    let vector = vector.ok_or(AnswerError::NoEvidenceNumbers)?;
    Ok(Gated {
        gate: gate.fingerprint.clone(),
        worth: gate.head.apply(&vector).filter(|worth| worth.is_finite()),
        reads_answer: reads_answer(gate),
    })
}

/// Checks that a gate was trained with this model and this embedder, by their fingerprints, and with the
/// current prompts.
///
/// # Errors
/// [`AnswerError::OtherGate`].
pub fn gate_fits(head: &Head, model: &str, embedder: Option<&str>) -> Result<(), AnswerError> {
    let prompt = prompt::fingerprint();
    let measured = &head.measured_on;
    let mismatch = Mismatch::find([
        ("model", Some(measured.model.as_str()), Some(model)),
        ("embedder", measured.embedder.as_deref(), embedder),
        ("prompts", measured.prompt.as_deref(), Some(prompt.as_str())),
    ]);
    mismatch.map_or(Ok(()), |mismatch| Err(AnswerError::OtherGate(mismatch)))
}

/// The inputs of a gate: for [`Input::Evidence`], how well passages fit and how sure the model is of its answer from
/// memory; for [`Input::EvidenceAndAnswer`], also how sure it is of the one with the evidence, and whether both are
/// equal. A signal that cannot tell is NaN. `None` if one was not measured, and for another input.
pub fn evidence_vector(
    input: Input,
    without: &Measurements,
    with: &Measurements,
) -> Option<Vec<f32>> {
    let rating = match (with.rating, with.costs.contains_key(&Step::Rate)) {
        (Some(rating), _) => rating.numbers(),
        (None, true) => [f64::NAN; 5],
        (None, false) => return None,
    };
    let mut vector = rating.to_vec();
    vector.push(confidence(without).recorded()?);
    match input {
        Input::Evidence => {}
        Input::EvidenceAndAnswer => {
            let (from_memory, read) = (without.greedy.as_ref()?, with.greedy.as_ref()?);
            let types = types_by_string(&[&from_memory.text, &read.text]);
            let same = types.first() == types.last();
            vector.extend([confidence(with).recorded()?, f64::from(u8::from(same))]);
        }
        _ => return None,
    }
    Some(vector.into_iter().map(|number| number as f32).collect())
}

#[cfg(test)]
mod tests {
    use ken_testing::with;

    use super::*;
    use ken_policy::Rating;
    use ken_probe::Sample;

    fn answered(text: &str, logprob: f64) -> Measurements {
        Measurements {
            greedy: Some(
                with!(Sample::default(), text: text.to_owned(), logprob: Some(logprob), tokens: 2),
            ),
            ..Measurements::default()
        }
    }

    #[test]
    fn a_vector_is_of_the_evidence_and_both_answers() {
        let without = answered("The red fox", -3.0);
        let with = Measurements {
            rating: Some(Rating {
                cosine: 0.5,
                lead: 0.25,
                bm25: 9.0,
                bm25_lead: 2.0,
                agreement: 0.5,
            }),
            ..answered("red fox.", -1.0)
        };
        let of = |input| evidence_vector(input, &without, &with);
        let found = vec![0.5, 0.25, 9.0, 2.0, 0.5, -1.5];
        assert_eq!(of(Input::Evidence), Some(found.clone()));
        let read = [found, vec![-0.5, 1.0]].concat();
        assert_eq!(of(Input::EvidenceAndAnswer), Some(read));
        assert_eq!(of(Input::FirstToken), None);
        let unanswered = Measurements::default();
        assert_eq!(evidence_vector(Input::Evidence, &unanswered, &with), None);
        assert_eq!(evidence_vector(Input::Evidence, &without, &without), None);
    }
}
