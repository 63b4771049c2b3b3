//! `ken train pruner`: which passages say what the language model knows.

use ken_answer::PassageFeatures;
use ken_corpus::Corpus;
use ken_eval::read_results;
use ken_lab::MasteryRecord;
use ken_lab::heads::pruner::{PrunerMeasures, PrunerReport, learn_pruner, pruner_labels};
use ken_lab::pruning::{PassageVectors, StoredVectors};

use super::head::{Kind, Row, learning, options, trained, with_interval};
use crate::arguments::train::{PassageSource, TrainPrunerArguments};
use crate::failure::Result;
use crate::output::{self, share};
use crate::session::Session;

pub(super) fn run(arguments: &TrainPrunerArguments, session: &Session<'_>) -> Result<()> {
    let corpus = Corpus::open(session.settings.folder()?)?;
    let records: Vec<MasteryRecord> = read_results(&arguments.labels)?;
    let labels = pruner_labels(&records)?;
    let options = options(&arguments.head, session.settings.seed, 0);
    let learn = |vectors: &[PassageVectors<'_>]| {
        learning(session, |watch| {
            learn_pruner(&labels, &corpus, vectors, options, watch)
        })
    };
    let learned = match arguments.from {
        PassageSource::Embedding => {
            learn(&[PassageVectors::Stored(StoredVectors::open(&corpus)?)])?
        }
        PassageSource::Hidden | PassageSource::Likelihood => {
            let model = session.setup().language_model()?;
            let model = model.as_ref();
            let views = match arguments.from {
                PassageSource::Likelihood => vec![PassageFeatures::Likelihood],
                _ => arguments
                    .layer
                    .for_head(model)
                    .into_iter()
                    .map(|layer| PassageFeatures::State { layer })
                    .collect(),
            };
            let vectors = views
                .into_iter()
                .map(|view| PassageVectors::Read { model, view });
            learn(&vectors.collect::<Vec<_>>())?
        }
    };
    PRUNER.finish(&[learned], &arguments.out, None, None, session)
}

const PRUNER: Kind<PrunerMeasures> = Kind {
    name: "pruner",
    measures: &[],
    rows,
};

fn rows(report: &PrunerReport) -> Vec<Row> {
    let of = &report.measured;
    let errors = [of.squared_error, of.squared_error_of_mean];
    let [error, of_mean] = errors.map(|value| output::number(value, 4));
    let correlation = with_interval(of.rank_correlation, of.rank_correlation_interval);
    let (learned, held_out) = (report.learned_from, report.held_out);
    let sentences = format!(
        "{} with a mastery, {} without",
        of.sentences, report.left_out
    );
    let passages = format!("trained on {learned}, held out {held_out}");
    let errors = format!("{error}; of predicting the mean {of_mean}");
    vec![
        trained(report),
        ("sentences", sentences),
        ("passages", passages),
        ("mastery of those held out", share(of.mastery)),
        ("rank correlation", correlation),
        ("squared error", errors),
    ]
}
