//! Replaces the client in a build without it: there is no collection, and opening one or pushing to one is an error.
#![allow(missing_docs)] // The client's documentation holds.
#![cfg_attr(feature = "client", allow(dead_code, unreachable_pub))]

use std::sync::atomic::AtomicBool;

use ken_corpus::{
    Active, CorpusInfo, EmbedderIdentity, Filter, Part, Passage, PassageId, PruneMark,
};
use ken_index::{Hit, Mode, Query};

use crate::address::MilvusAddress;
use crate::error::MilvusError;
use crate::mark::{Mark, Missing, Ranking};
use crate::push_job::PushJob;
use crate::push_report::{Progress, Pushed};
use crate::token::Token;

#[derive(Clone)]
pub enum Collection {}

impl Collection {
    pub fn open(
        address: &MilvusAddress,
        _token: Option<&Token>,
        _active: Active,
    ) -> Result<Self, MilvusError> {
        Err(no_client(address))
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
    pub fn open(
        address: &MilvusAddress,
        _token: Option<&Token>,
        _by: Ranking<'_>,
        _progress: &mut dyn FnMut(usize, usize),
        _stop: &AtomicBool,
    ) -> Result<Option<Self>, MilvusError> {
        Err(no_client(address))
    }

    pub fn prune(
        self,
        _count: usize,
        _progress: &mut dyn FnMut(usize, usize),
        _stop: &AtomicBool,
    ) -> Result<Option<CorpusInfo>, MilvusError> {
        match self {}
    }
}

pub fn restore(
    address: &MilvusAddress,
    _token: Option<&Token>,
    _progress: &mut dyn FnMut(usize, usize),
    _stop: &AtomicBool,
) -> Result<Option<CorpusInfo>, MilvusError> {
    Err(no_client(address))
}

pub fn push(
    job: PushJob<'_>,
    _progress: &mut dyn FnMut(Progress),
    _stop: &AtomicBool,
) -> Result<Pushed, MilvusError> {
    Err(no_client(job.address))
}

pub fn push_part(
    job: PushJob<'_>,
    _part: Part,
    progress: &mut dyn FnMut(Progress),
    stop: &AtomicBool,
) -> Result<Pushed, MilvusError> {
    push(job, progress, stop)
}

pub fn push_and_switch(
    job: PushJob<'_>,
    progress: &mut dyn FnMut(Progress),
    stop: &AtomicBool,
) -> Result<Pushed, MilvusError> {
    push(job, progress, stop)
}

pub fn mark(
    address: &MilvusAddress,
    _token: Option<&Token>,
    _mark: Mark<'_>,
    _passages: &[PruneMark],
    _missing: Missing,
    _progress: &mut dyn FnMut(usize, usize),
    _stop: &AtomicBool,
) -> Result<Option<CorpusInfo>, MilvusError> {
    Err(no_client(address))
}

pub fn score(
    address: &MilvusAddress,
    _token: Option<&Token>,
    _name: &str,
    _score: &dyn Fn(&PassageId, &[f32]) -> f64,
    _progress: &mut dyn FnMut(usize, usize),
    _stop: &AtomicBool,
) -> Result<Option<CorpusInfo>, MilvusError> {
    Err(no_client(address))
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
