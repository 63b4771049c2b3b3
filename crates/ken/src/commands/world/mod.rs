//! `ken world`: an invented world, its untrained models, and what a model knows of it.

mod train;

use std::path::Path;

use ken_eval::sample;
use ken_world::{
    SourceAccuracy, TruthRow, World, WorldSettings, WorldSummary, accuracy_of_truth, measure_truth,
    read_world, training_text_of, truth_table, world_questions, write_untrained, write_world,
};
use serde_json::json;

use crate::arguments::world::{MemberFlags, WorldMakeArguments, WorldTruthArguments, WorldVerb};
use crate::failure::{Failure, Result};
use crate::output::{self, share};
use crate::progress::Display;
use crate::session::Session;

pub(crate) fn run(verb: &WorldVerb, session: &Session<'_>) -> Result<()> {
    match verb {
        WorldVerb::Make(arguments) => make(arguments, session.settings.seed, session.json),
        WorldVerb::Mix { world, from, limit } => mix(world, *from, *limit, session),
        WorldVerb::Model(arguments) => model(arguments, session.json),
        WorldVerb::Train(arguments) => train::run(arguments, session),
        WorldVerb::Truth(arguments) => truth(arguments, session),
    }
}

fn make(arguments: &WorldMakeArguments, seed: u64, json: bool) -> Result<()> {
    let world = World::new(WorldSettings {
        people: arguments.people,
        unseen: arguments.unseen,
        strangers: arguments.strangers,
        exponent: arguments.exponent,
        documents: arguments.documents,
        look_alikes: arguments.look_alikes,
        outdated: arguments.outdated,
        wrong: arguments.wrong,
        irrelevant: arguments.irrelevant,
        sequences: arguments.sequences,
        seed,
    })?;
    let summary = write_world(&world, &arguments.out)?;
    match json {
        true => output::json(&summary),
        false => show_world(&summary, &arguments.out),
    }
}

fn show_world(summary: &WorldSummary, out: &Path) -> Result<()> {
    let kinds = summary.by_kind.iter();
    let kinds: Vec<String> = kinds
        .map(|(kind, count)| format!("{count} {kind}"))
        .collect();
    let settings = &summary.settings;
    let people = format!(
        "{} in training, {} in the corpus alone, {} in neither",
        settings.people, settings.unseen, settings.strangers
    );
    let questions = format!("{}: {}", summary.questions, kinds.join(", "));
    let misrepresented = format!(
        "{} by look-alikes, {} by outdated documents, {} by wrong ones",
        settings.look_alikes, settings.outdated, settings.wrong
    );
    output::pairs([
        ("people", people),
        ("misrepresented", misrepresented),
        ("documents", summary.documents.to_string()),
        ("questions", questions),
        ("fingerprint", summary.fingerprint.clone()),
        ("folder", out.display().to_string()),
    ])?;
    show_sources(&summary.sources)
}

/// What models get from each source.
fn show_sources(sources: &[SourceAccuracy]) -> Result<()> {
    let rows = sources.iter().map(|source| {
        let shares = [source.known, source.never, source.always, source.oracle];
        shares.map(|value| share(Some(value))).to_vec()
    });
    output::columns("known|never|always|oracle", rows)
}

fn mix(world: &Path, from: u64, limit: u64, session: &Session<'_>) -> Result<()> {
    let world = read_world(world)?;
    for number in from..from.saturating_add(limit) {
        if session.is_stopped() {
            return Err(Failure::stopped("stopped"));
        }
        let text = training_text_of(&world, number);
        match session.json {
            true => output::json(&text)?,
            false => output::text(&format!("{}\n", text.text().trim()))?,
        }
    }
    Ok(())
}

fn model(arguments: &MemberFlags, json: bool) -> Result<()> {
    let world = read_world(&arguments.world)?;
    let written = write_untrained(&world, arguments.size, &arguments.out)?;
    let out = arguments.out.display().to_string();
    match json {
        true => output::json(&json!({
            "model": out,
            "size": arguments.size.to_string(),
            "parameters": written.parameters(),
            "vocabulary": written.vocabulary,
            "context": written.context,
        })),
        false => output::pairs([
            ("model", out),
            ("parameters", written.parameters().to_string()),
            ("vocabulary", written.vocabulary.to_string()),
        ]),
    }
}

fn truth(arguments: &WorldTruthArguments, session: &Session<'_>) -> Result<()> {
    let world = read_world(&arguments.world)?;
    let mut questions = world_questions(&world);
    if let Some(limit) = arguments.limit {
        questions = sample(questions, limit, world.settings().seed);
    }
    let model = session.setup().language_model()?;
    let all = questions.len();
    let records = {
        let mut display = Display::new();
        let mut progress = |done| display.show_items("measured", done, all);
        let model = model.as_ref();
        measure_truth(model, &world, &questions, &mut progress, session.stop)?
    };
    if records.len() < all {
        let message = format!("stopped after {} of {all} questions", records.len());
        return Err(Failure::stopped(message));
    }
    if let Some(out) = &arguments.out {
        let lines = records.iter().map(|record| format!("{}\n", json!(record)));
        ken_storage::output(out, lines.collect::<String>().as_bytes())?;
    }
    if session.json {
        records.iter().try_for_each(output::json)
    } else {
        show_truth(&truth_table(&records, world.settings().people))?;
        show_sources(&[accuracy_of_truth(&records)])
    }
}

fn show_truth(rows: &[TruthRow]) -> Result<()> {
    let rows = rows.iter().map(|row| {
        let exposure = output::number(row.exposure, 1);
        let means = [
            row.asked,
            row.not_asked,
            row.one_wording,
            row.evidence,
            row.misled,
            row.stranger,
            row.former,
        ];
        let mut cells = vec![row.what.clone(), row.questions.to_string(), exposure];
        cells.extend(means.map(share));
        cells
    });
    let names = "questions|n|told|asked|not asked|one wording|evidence|misled|stranger|former";
    output::columns(names, rows)
}
