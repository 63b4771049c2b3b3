//! Studies, plans and reports.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../../../eval/tests/evaluation/fixture/mod.rs"]
mod fixture;
mod plan_table;
mod reports;
mod scaling;
mod scaling_table;
mod study_breakdown;
