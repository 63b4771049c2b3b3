//! `ken plan --capacity`: what a large corpus takes, from measurements of smaller ones.

use ken_report::Provenance;
use ken_scale::plan::capacity::{
    Capacity, Demand, Embedding, Machine, Measurements, capacity_report,
};
use ken_storage::create_dir_all;

use crate::arguments::study::PlanArguments;
use crate::commands::{provenance, records};
use crate::failure::{Failure, Result};
use crate::output;
use crate::session::Session;

/// Tells what a corpus of this many passages takes.
pub(crate) fn run(arguments: &PlanArguments, session: &Session<'_>) -> Result<()> {
    let demand = demand(arguments)?;
    let measurements = Measurements::embedded()?;
    let capacity = Capacity::of(&demand, &measurements)?;
    let report = capacity_report(&capacity, &measurements)
        .measured_with(provenance::of(Provenance::new(), session.given));
    match &arguments.demand.out {
        Some(folder) => {
            create_dir_all(folder)?;
            records::page(&report, &capacity, "report", folder, session.json)
        }
        None if session.json => output::json(&capacity),
        None => output::report(&report),
    }
}

fn demand(arguments: &PlanArguments) -> Result<Demand> {
    let wanted = &arguments.demand;
    let prices = arguments.prices.unwrap_or_default();
    if prices.million_tokens > 0.0 || prices.questions > 0.0 {
        return Err(Failure::refused(
            "price_not_used",
            "a capacity has no tokens and no questions a month",
            "with --capacity, prices are memory_gb, disk_gb, core_hour and gpu_hour",
        ));
    }
    let passages = wanted.passages.ok_or_else(|| {
        let message = "the number of passages is missing";
        Failure::refused("passages_missing", message, "add --passages N")
    })?;
    let per_core = wanted.embedded_per_core.map(Embedding::PerCore);
    Ok(Demand {
        passages,
        words: wanted.words,
        dimensions: wanted.dimensions,
        vectors: wanted.vectors,
        shards: wanted.shards,
        recall: wanted.recall,
        queries_per_s: wanted.queries_per_s,
        embedding: per_core.or(wanted.embedded_per_gpu.map(Embedding::PerGpu)),
        probed: wanted.probe,
        probe_core_s: wanted.probe_core_s,
        machine: Machine {
            cores: wanted.cores,
            memory: wanted.memory,
        },
        prices,
    })
}
