//! What a handler is called with: the caller, the names in the path, and what the server serves meanwhile.

use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use axum::body::Body;
use axum::extract::{FromRef, FromRequestParts, Path};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Uri};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::permission::Permission;
use crate::access::caller::{Access, Caller};
use crate::service::answers::Request;
use crate::service::live::Live;
use crate::service::resources::Served;
use crate::service::work;
use crate::wire::body::{self, SentBody};
use crate::wire::page::Page;
use crate::wire::refusal::Refusal;

/// What all requests share.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) live: Arc<Live>,
    pub(crate) access: Arc<Access>,
    /// Raised when the server takes no more work.
    pub(crate) ending: Arc<AtomicBool>,
}

impl FromRef<Shared> for Arc<Served> {
    fn from_ref(shared: &Shared) -> Self {
        Arc::clone(&shared.live.now().served)
    }
}

/// A request that its caller may make. Its body is not read yet.
pub(crate) struct Call<P = ()> {
    /// Stays the same until the request is done.
    pub(crate) served: Arc<Served>,
    pub(crate) shared: Shared,
    pub(crate) request: Request,
    /// The names in the path.
    pub(crate) path: P,
    pub(crate) headers: HeaderMap,
    uri: Uri,
}

impl<P: Names> Call<P> {
    /// Reads the head of a request.
    ///
    /// # Errors
    /// A key without the scope, or that is not for the corpus in the path; a path that is not UTF-8.
    pub(super) async fn read(
        shared: Shared,
        mut parts: Parts,
        permission: Permission,
    ) -> Result<Self, Refusal> {
        // The guard puts one into every request that it admits.
        let request = parts.extensions.remove::<Request>();
        let request = request.ok_or_else(work::broken)?;
        permission.check(&request.caller)?;
        let Path(names) = Path::from_request_parts(&mut parts, &())
            .await
            .map_err(|_| P::unreadable())?;
        Ok(Self {
            served: Arc::from_ref(&shared),
            shared,
            path: P::checked(names, &request.caller)?,
            request,
            headers: parts.headers,
            uri: parts.uri,
        })
    }
}

impl<P> Call<(Corpus, P)> {
    /// Splits the call into one on the corpus, and the name within that.
    pub(crate) fn split(self) -> (Call<Corpus>, P) {
        let (path, name) = self.path;
        let call = Call {
            served: self.served,
            shared: self.shared,
            request: self.request,
            path,
            headers: self.headers,
            uri: self.uri,
        };
        (call, name)
    }
}

impl<P> Call<P> {
    pub(crate) fn caller(&self) -> &Caller {
        &self.request.caller
    }

    pub(crate) fn query(&self) -> Option<&str> {
        self.uri.query()
    }

    /// The page of a list that the query names.
    ///
    /// # Errors
    /// A value that cannot be taken.
    pub(crate) fn page(&self) -> Result<Page, Refusal> {
        Page::read(self.query())
    }

    /// Does short work on the call, on a thread that may block: for anything that touches the disk.
    ///
    /// # Errors
    /// Those of the work.
    pub(crate) async fn blocking<T: Send + 'static>(
        self,
        work: impl FnOnce(&Self) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal>
    where
        P: Send + 'static,
    {
        work::blocking(move || work(&self)).await
    }
}

/// The names in a path.
pub(crate) trait Names: Sized + Send + 'static {
    type Text: DeserializeOwned + Send;

    /// The refusal of a path that is not UTF-8.
    fn unreadable() -> Refusal {
        Refusal::bad("invalid_path", "the path is not UTF-8")
    }

    /// # Errors
    /// A corpus that the caller may not read.
    fn checked(text: Self::Text, caller: &Caller) -> Result<Self, Refusal>;
}

macro_rules! plain {
    ($($names:ty),*) => {$(
        impl Names for $names {
            type Text = Self;

            fn checked(text: Self, _: &Caller) -> Result<Self, Refusal> {
                Ok(text)
            }
        }
    )*};
}

plain!((), String, (String, String));

/// The name of a corpus that the caller may read. It may not exist.
pub(crate) struct Corpus(pub(crate) String);

impl Names for Corpus {
    type Text = String;

    fn checked(name: String, caller: &Caller) -> Result<Self, Refusal> {
        caller.must_read(&name)?;
        Ok(Self(name))
    }
}

impl Names for (Corpus, String) {
    type Text = (String, String);

    fn checked((corpus, name): (String, String), caller: &Caller) -> Result<Self, Refusal> {
        Ok((Corpus::checked(corpus, caller)?, name))
    }
}

/// A body of JSON that is yet to be read.
pub(crate) struct JsonBody<T> {
    sent: SentBody,
    value: PhantomData<fn() -> T>,
}

impl<T> From<SentBody> for JsonBody<T> {
    fn from(sent: SentBody) -> Self {
        let value = PhantomData;
        Self { sent, value }
    }
}

impl<T: DeserializeOwned> JsonBody<T> {
    /// # Errors
    /// As [`body::read`].
    pub(crate) async fn read(self) -> Result<T, Refusal> {
        body::read(self.sent).await
    }

    /// The value, and the JSON that it came as.
    ///
    /// # Errors
    /// As [`body::read`].
    pub(crate) async fn read_with_source(self) -> Result<(T, Map<String, Value>), Refusal> {
        let bytes = body::bytes(self.sent).await?;
        // From the text, since a map would hide a field that appears twice.
        Ok((body::value(&bytes)?, body::value(&bytes)?))
    }

    /// The default if the request has no body.
    ///
    /// # Errors
    /// As [`body::bytes_or_none`] and [`body::value`].
    pub(crate) async fn read_or_default(self) -> Result<T, Refusal>
    where
        T: Default,
    {
        let bytes = body::bytes_or_none(self.sent).await?;
        if bytes.is_empty() {
            Ok(T::default())
        } else {
            body::value(&bytes)
        }
    }
}

/// A body of `multipart/form-data` that is yet to be received.
pub(crate) struct Upload(pub(crate) Body);

impl From<SentBody> for Upload {
    fn from(sent: SentBody) -> Self {
        Self(sent.body)
    }
}
