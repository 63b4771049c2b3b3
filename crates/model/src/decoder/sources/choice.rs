//! Which source a model would choose after a question (SR-RAG, section 3.4), and its hidden state there.

use ken_language::{SourceChoice, softmax};

use crate::decoder::Decoder;
use crate::decoder::error::DecoderError;
use crate::decoder::scheduler::Work;
use crate::decoder::text::prompt::Prompt;

impl Decoder {
    /// As [`ken_language::SourceChooser::choose_sources`], for tokenized prompts. `sources` are the tokens of the
    /// sources.
    pub(in crate::decoder) fn choose_sources(
        &self,
        prompts: &[Prompt],
        sources: &[u32],
        layer: usize,
    ) -> Result<Vec<SourceChoice>, DecoderError> {
        let prompts: Vec<&Prompt> = prompts.iter().collect();
        let states = self.states(&prompts, layer, || Work::Choose {
            layer,
            tokens: sources.to_vec(),
        })?;
        let choices = states.into_iter().map(|read| {
            let likely: Vec<f64> = read.logprobs.into_iter().map(f64::from).collect();
            SourceChoice {
                probabilities: softmax(&likely),
                state: read.residual,
            }
        });
        Ok(choices.collect())
    }
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use ken_language::{GenerateOptions, Progress, Sampling};

    use super::*;
    use crate::decoder::scheduler::tests::decoder;
    use crate::decoder::text::prompt::Course;
    use crate::decoder::{GenerateRequest, LoadOptions};

    const SOURCES: [u32; 3] = [5, 6, 7];

    fn going(tokens: &[u32]) -> Prompt {
        Prompt::on_course(tokens.to_vec(), Course::Continues).unwrap()
    }

    /// How many of a prompt's tokens need not be read again.
    fn known(decoder: &Decoder, prompt: &Prompt) -> usize {
        let options = GenerateOptions::new(Sampling::Greedy, 1);
        let request = GenerateRequest::new(prompt, 1, &options);
        let mut known = None;
        let mut cancel = |progress: Progress<'_>| {
            if let Progress::Reading { read, .. } = progress {
                known.get_or_insert(read);
            }
            ControlFlow::Break(())
        };
        decoder.generate_many(&[request], &mut cancel).unwrap();
        known.unwrap()
    }

    #[test]
    fn what_goes_on_from_a_question_does_not_read_it_again() {
        let folder = tempfile::tempdir().unwrap();
        let decoder = decoder(folder.path(), &LoadOptions::default());
        let asked = going(&[1, 2, 3, 4]);
        assert_eq!(known(&decoder, &asked), 0);
        decoder
            .choose_sources(std::slice::from_ref(&asked), &SOURCES, 1)
            .unwrap();
        let longer = going(&[1, 2, 3, 4, 8, 9]);
        assert_eq!(known(&decoder, &longer), 4);
        assert_eq!(
            known(&decoder, &going(&[1, 2, 9, 4, 8])),
            0,
            "another question"
        );
        let alone = Prompt::new(longer.tokens().to_vec(), &[]).unwrap();
        assert_eq!(known(&decoder, &alone), 0, "another kind of prompt");

        // The result equals that of reading all of it.
        let going_on = decoder
            .choose_sources(std::slice::from_ref(&longer), &SOURCES, 2)
            .unwrap();
        assert_eq!(known(&decoder, &going(&[1, 2, 3, 4, 8, 9, 3])), 6);
        let fresh = self::decoder(folder.path(), &LoadOptions::default());
        let whole = fresh.choose_sources(&[longer], &SOURCES, 2).unwrap();
        assert!((whole[0].probabilities.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        assert_ne!(whole[0].probabilities[0], whole[0].probabilities[1]);
        let pairs = whole[0]
            .probabilities
            .iter()
            .zip(&going_on[0].probabilities);
        assert!(
            pairs
                .into_iter()
                .all(|(one, other)| (one - other).abs() < 1e-5)
        );
        let pairs = whole[0].state.iter().zip(&going_on[0].state);
        assert!(
            pairs
                .into_iter()
                .all(|(one, other)| (one - other).abs() < 1e-4)
        );
    }
}
