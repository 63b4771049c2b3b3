//! The models that a pipeline decides by beside the one that answers: a router, an assessor, a policy datastore, a gate.

use std::sync::Arc;

use ken_language::CancelToken;
use ken_policy::RoutingModel;

use crate::error::AnswerError;
use crate::measure::assessor::Assessor;
use crate::measure::datastore::Datastore;
use crate::measure::gate::gate_fits;
use crate::measure::router::fits;
use crate::measure::routing_head::RoutingHead;

/// The models that were trained to route questions for the model that answers, if there are any.
#[derive(Clone, Default)]
pub struct RoutingModels {
    /// The head of the policy `router`. If it reads an assessor's verdicts, these are from `assessor`.
    pub router: Option<Arc<RoutingHead>>,
    /// The model of the policy `kbm`.
    pub assessor: Option<Arc<Assessor>>,
    /// Votes on the source that the model chooses.
    pub datastore: Option<Arc<Datastore>>,
    /// The head of the policy `evidence:gate`.
    pub gate: Option<Arc<RoutingHead>>,
}

impl RoutingModels {
    /// Checks that each was trained with this model, this embedder and the current prompts.
    pub(crate) fn check(&self, model: &str, embedder: Option<&str>) -> Result<(), AnswerError> {
        if let Some(assessor) = &self.assessor {
            assessor.check(model)?;
        }
        if let Some(router) = &self.router {
            let assessor = self.assessor.as_deref().map(Assessor::fingerprint);
            fits(&router.head, model, embedder, assessor)?;
        }
        if let Some(gate) = &self.gate {
            gate_fits(&gate.head, model, embedder)?;
        }
        if let Some(datastore) = &self.datastore {
            datastore.check(model)?;
        }
        Ok(())
    }

    /// A copy whose calls end when the token is set.
    pub(crate) fn bound(self, token: &CancelToken) -> Self {
        let assessor = self.assessor;
        Self {
            assessor: assessor.map(|assessor| Arc::new(assessor.bound(token))),
            ..self
        }
    }

    /// The fingerprint of one of them.
    pub fn fingerprint(&self, model: RoutingModel) -> Option<&str> {
        match model {
            RoutingModel::Router => self
                .router
                .as_deref()
                .map(|router| router.fingerprint.as_str()),
            RoutingModel::Assessor => self.assessor.as_deref().map(Assessor::fingerprint),
            RoutingModel::Datastore => self.datastore.as_deref().map(Datastore::fingerprint),
            RoutingModel::Gate => self.gate.as_deref().map(|gate| gate.fingerprint.as_str()),
        }
    }
}
