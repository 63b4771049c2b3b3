//! Replaces the client in a build without it: there is no collection, and opening one or pushing to one is an error.
#![allow(missing_docs)] // The client's documentation holds.
#![cfg_attr(feature = "client", allow(dead_code, unreachable_pub))]

use std::sync::atomic::AtomicBool;

use ken_corpus::{Active, CorpusInfo, EmbedderIdentity, Filter, Passage, PassageId, PruneMark};
use ken_index::{Hit, Mode, Query};

use crate::address::MilvusAddress;
use crate::error::MilvusError;
use crate::mark::{Mark, Missing, Ranking};
use crate::push_job::{Progress, PushJob, Pushed};
use crate::token::Token;

/// What needs a server: the address comes first.
macro_rules! functions {
    ($($name:ident($($argument:ty),*) -> $result:ty;)*) => {
        $(pub fn $name(address: &MilvusAddress $(, _: $argument)*) -> Result<$result, MilvusError> {
            Err(no_client(address))
        })*
    };
}

type Watch<'a> = &'a mut dyn FnMut(usize, usize);

functions! {
    mark(Option<&Token>, Mark<'_>, &[PruneMark], Missing, Watch<'_>, &AtomicBool) -> Option<CorpusInfo>;
    restore(Option<&Token>, Watch<'_>, &AtomicBool) -> Option<CorpusInfo>;
    score(Option<&Token>, &str, &dyn Fn(&PassageId, &[f32]) -> f64, Watch<'_>, &AtomicBool) -> Option<CorpusInfo>;
}

#[derive(Clone)]
pub enum Collection {}

impl Collection {
    functions! {
        open(Option<&Token>, Active) -> Self;
    }

    pub fn within(self, _filters: &[Filter]) -> Result<Self, MilvusError> {
        match self {}
    }

    pub fn undo_ratios(&mut self) {
        match *self {}
    }
}

/// What only an open collection, or its ranked passages, can do.
macro_rules! methods {
    ($of:ident: $($name:ident($($argument:ty),*) -> $result:ty;)*) => {
        impl $of {
            $(pub fn $name(&self $(, _: $argument)*) -> $result {
                match *self {}
            })*
        }
    };
}

methods! {
    Ranked:
    info() -> &CorpusInfo;
    passages() -> usize;
    scored() -> usize;
    pruned() -> usize;
    threshold(usize) -> Result<Option<(f64, usize)>, MilvusError>;
    first(usize) -> Result<Vec<PruneMark>, MilvusError>;
}

methods! {
    Collection:
    address() -> &MilvusAddress;
    info() -> &CorpusInfo;
    embedder() -> &EmbedderIdentity;
    renewed() -> Result<Option<Self>, MilvusError>;
    passage_count() -> usize;
    matching_count() -> Result<u64, MilvusError>;
    fingerprint() -> String;
    content() -> String;
    sample(Option<usize>, u64, &mut dyn FnMut(Passage)) -> Result<(), MilvusError>;
    find(&str) -> Result<Option<Passage>, MilvusError>;
    ids() -> Result<Vec<PassageId>, MilvusError>;
    nearest(&[Vec<f32>], usize) -> Result<Vec<Vec<(PassageId, f32)>>, MilvusError>;
    stored(&[PassageId]) -> Result<Vec<(Passage, Vec<f32>)>, MilvusError>;
    search(&Query<'_>, Mode, usize) -> Result<Vec<Hit>, MilvusError>;
}

pub enum Ranked {}

impl Ranked {
    functions! {
        open(Option<&Token>, Ranking<'_>, Watch<'_>, &AtomicBool) -> Option<Self>;
    }

    pub fn prune(
        self,
        _count: usize,
        _progress: Watch<'_>,
        _stop: &AtomicBool,
    ) -> Result<Option<CorpusInfo>, MilvusError> {
        match self {}
    }
}

pub fn push(
    job: PushJob<'_>,
    _progress: &mut dyn FnMut(Progress),
    _stop: &AtomicBool,
) -> Result<Pushed, MilvusError> {
    Err(no_client(job.address))
}

pub fn push_and_switch(
    job: PushJob<'_>,
    progress: &mut dyn FnMut(Progress),
    stop: &AtomicBool,
) -> Result<Pushed, MilvusError> {
    push(job, progress, stop)
}

fn no_client(address: &MilvusAddress) -> MilvusError {
    MilvusError::NoClient {
        address: address.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_refused() {
        let address = "milvus://box:19530/notes".parse().unwrap();
        let error = Collection::open(&address, None, Active::All).err().unwrap();
        assert_eq!(error.kind(), "built_without_milvus");
        assert!(error.to_string().starts_with("milvus://box:19530/notes "));
        assert!(error.remedy().unwrap().mentions("BuildWithMilvus"));
    }
}
