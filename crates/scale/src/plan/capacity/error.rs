//! Why there is no plan of a capacity.

/// Why there is no plan of a capacity.
#[derive(Debug, thiserror::Error, ken_diagnostic::Diagnostic)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum CapacityError {
    #[error("the measurements cannot be read")]
    #[diagnostic(remedy = "write them as JSON with the fields that they had")]
    BrokenMeasurements(#[source] serde_json::Error),
    #[error("growth takes measurements at 3 sizes, and there are {sizes}")]
    #[diagnostic(kind = "too_few_sizes", remedy = "measure at more sizes")]
    TooFewSizes { sizes: usize },
    #[error("{field} is {value} in the measurements at {vectors} vectors, and must be above 0")]
    #[diagnostic(remedy = "measure it again, or leave the field out")]
    BadMeasurement {
        vectors: u64,
        field: &'static str,
        value: f64,
    },
    #[error("{name} is {value}, and must be {needed}")]
    #[diagnostic(kind = "bad_demand", remedy = "give a number in that range")]
    BadDemand {
        name: &'static str,
        value: f64,
        needed: &'static str,
    },
    #[error(
        "growth takes measurements at 3 sizes, and fewer reach a recall of {recall}; 3 reach {highest}"
    )]
    #[diagnostic(kind = "recall_not_measured", remedy = "lower <recall>")]
    RecallNotMeasured { recall: f64, highest: f64 },
}
