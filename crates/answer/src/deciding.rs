//! What a pipeline decides by beside the model that answers: a router, an assessor, a policy datastore, a gate.

use std::sync::Arc;

use ken_language::Embedder;
use ken_policy::{Abstention, Head, Policy, RoutingModel, RoutingModels, Signal};

use crate::assessor::Assessor;
use crate::datastore::Datastore;
use crate::error::AnswerError;
use crate::gate::{Gate, gate_fits};
use crate::pipeline::Pipeline;
use crate::retrieve::Retriever;
use crate::router::{Router, fits};

impl Pipeline {
    /// The same pipeline with a router, by which the policy of that name decides. One that looks at an
    /// assessor's verdicts takes that of [`Pipeline::with_assessor`].
    ///
    /// # Errors
    /// A router that was learned with another model, embedder, assessor or other prompts.
    pub fn with_router(mut self, head: Head) -> Result<Self, AnswerError> {
        let embedder = self.retriever().map(Retriever::embedder);
        let assessor = self.assessor.as_deref();
        let router = Router::new(head, self.model.as_ref(), embedder, assessor)?;
        self.router = Some(Arc::new(router));
        Ok(self)
    }

    /// The same pipeline with an assessor, by which the policy `kbm` decides.
    ///
    /// # Errors
    /// One that was trained on another model or other prompts.
    pub fn with_assessor(mut self, assessor: Assessor) -> Result<Self, AnswerError> {
        assessor.check(self.model.fingerprint())?;
        self.assessor = Some(Arc::new(assessor));
        Ok(self)
    }

    /// Makes sure that an assessor that is asked about evidence, to review it or to vouch for answers, was
    /// trained on some.
    ///
    /// # Errors
    /// [`AnswerError::AssessorWithoutEvidence`].
    pub fn check_review(
        &self,
        policy: Policy,
        abstain: Option<Abstention>,
    ) -> Result<(), AnswerError> {
        let Some(assessor) = &self.assessor else {
            return Ok(());
        };
        let by_assessor = |signal: Signal| signal.told_by == Some(RoutingModel::Assessor);
        if policy.reviews_by().is_some_and(by_assessor) {
            assessor.check_evidence(policy)?;
        }
        match abstain.filter(|abstain| by_assessor(abstain.signal)) {
            Some(abstain) => assessor.check_evidence(abstain),
            None => Ok(()),
        }
    }

    /// The same pipeline with a datastore, which votes on the source that the model chooses.
    ///
    /// # Errors
    /// One whose keys were taken with another model or other prompts.
    pub fn with_datastore(self, datastore: Datastore) -> Result<Self, AnswerError> {
        datastore.check(self.model.fingerprint())?;
        Ok(self.with_checked_datastore(Arc::new(datastore)))
    }

    /// The same, with a datastore whose keys were taken with its model and the prompts of today.
    #[must_use]
    pub fn with_checked_datastore(self, datastore: Arc<Datastore>) -> Self {
        Self {
            datastore: Some(datastore),
            ..self
        }
    }

    /// The datastore, where there is one.
    #[must_use]
    pub fn datastore(&self) -> Option<&Arc<Datastore>> {
        self.datastore.as_ref()
    }

    /// The same pipeline with a gate, by which the policy `evidence:gate` weighs evidence.
    ///
    /// # Errors
    /// One that was trained with another model, embedder or other prompts.
    pub fn with_gate(mut self, head: Head) -> Result<Self, AnswerError> {
        let embedder = self.retriever().map(Retriever::embedder);
        let gate = Gate::new(head, self.model.fingerprint(), embedder)?;
        self.gate = Some(Arc::new(gate));
        Ok(self)
    }

    /// The same pipeline over another corpus, or over none.
    ///
    /// # Errors
    /// A router or a gate that was learned with another embedder than that of the corpus.
    pub fn over(mut self, retriever: Option<Retriever>) -> Result<Self, AnswerError> {
        let embedder = retriever.as_ref().map(Retriever::embedder);
        let embedder = embedder.map(Embedder::fingerprint);
        let model = self.model.fingerprint();
        if let Some(router) = &self.router {
            let assessor = self.assessor.as_deref().map(Assessor::fingerprint);
            fits(&router.head, model, embedder, assessor)?;
        }
        if let Some(gate) = &self.gate {
            gate_fits(&gate.head, model, embedder)?;
        }
        self.retriever = retriever;
        Ok(self)
    }

    /// The fingerprints of the routing models.
    #[must_use]
    pub fn routing_models(&self) -> RoutingModels<'_> {
        RoutingModels {
            router: self.router().map(|(_, fingerprint)| fingerprint),
            assessor: self.assessor.as_deref().map(Assessor::fingerprint),
            datastore: self.datastore.as_deref().map(Datastore::fingerprint),
            gate: self.gate().map(|(_, fingerprint)| fingerprint),
        }
    }

    /// The router, where there is one, and its fingerprint.
    #[must_use]
    pub fn router(&self) -> Option<(&Head, &str)> {
        let router = self.router.as_deref()?;
        Some((&router.head, router.fingerprint.as_str()))
    }

    /// The gate, where there is one, and its fingerprint.
    #[must_use]
    pub fn gate(&self) -> Option<(&Head, &str)> {
        let gate = self.gate.as_deref()?;
        Some((&gate.head, gate.fingerprint.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use ken_index::Mode;
    use ken_language::{LanguageModel, Sampling};
    use ken_testing::{Fact, TableModel};

    use super::*;
    use crate::{AnswerSettings, AssessedModel, Style, prompt};

    fn pipeline(with_evidence: bool) -> Pipeline {
        let fact = Fact {
            question: "who rows?".to_owned(),
            answer: "Ida".to_owned(),
            known: 1.0,
            ..Fact::default()
        };
        let settings = AnswerSettings {
            policy: Policy::NEVER,
            abstain: None,
            mode: Mode::Lexical,
            k: 1,
            evidence_tokens: 500,
            style: Style::Short,
            max_tokens: 16,
            full_tokens: 64,
            sampling: Sampling::Greedy,
            samples: 3,
            seed: 0,
        };
        let model = Arc::new(TableModel::new(vec![fact]).unwrap());
        let assessed = AssessedModel {
            model: model.fingerprint().to_owned(),
            prompt: prompt::fingerprint(),
            with_evidence,
        };
        let assessor = Assessor::new(model.clone(), assessed);
        let pipeline = Pipeline::new(model, None, settings);
        pipeline.with_assessor(assessor).unwrap()
    }

    #[test]
    fn an_assessor_that_was_trained_on_no_evidence_is_not_asked_about_it() {
        let refused = |policy: &str, abstain: Option<&str>| {
            let mut pipeline = pipeline(false);
            pipeline.settings.policy = policy.parse().unwrap();
            pipeline.settings.abstain = abstain.map(|text| text.parse().unwrap());
            let answer = pipeline.answer("who rows?", &mut |_| ControlFlow::Continue(()));
            answer.err().map(|error| (error.kind(), error.remedy()))
        };
        assert_eq!(refused("kbm@1", None), None);
        for (policy, abstain) in [
            ("kbm@1+double", None),
            ("kbm:certainty@1+double", None),
            ("never", Some("kbm@0.5")),
        ] {
            let (kind, remedy) = refused(policy, abstain).unwrap();
            assert_eq!(kind, "assessor_without_evidence", "{policy}");
            let remedy = remedy.unwrap();
            assert!(
                remedy.mentions("TrainKbm") && remedy.mentions("corpus"),
                "{remedy}"
            );
        }
        let with_evidence = pipeline(true);
        let policy = "kbm@1+double".parse().unwrap();
        assert!(with_evidence.check_review(policy, None).is_ok());
    }
}
