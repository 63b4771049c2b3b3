//! The stand-in for the database client in a build without it: opening a table is an error.

use ken_corpus::Filter;

use crate::address::ServiceAddress;
use crate::error::ServiceError;
use crate::http::{Question, State};
use crate::key::Key;
use crate::record::ServiceRecord;

pub(crate) enum Database {}

impl Database {
    pub(crate) fn open(address: &ServiceAddress, _key: Option<&Key>) -> Result<Self, ServiceError> {
        Err(ServiceError::NoPostgres {
            address: address.to_string(),
        })
    }

    pub(crate) fn state(&self, _: &ServiceAddress) -> Result<State, ServiceError> {
        match *self {}
    }

    pub(crate) fn search(
        &self,
        _: &ServiceAddress,
        _: Question<'_>,
        _k: usize,
        _: &[Filter],
    ) -> Result<Vec<ServiceRecord>, ServiceError> {
        match *self {}
    }
}
