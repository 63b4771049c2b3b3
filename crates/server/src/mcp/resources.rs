//! The documents as resources: their list, corpus by corpus, and their texts, both page by page.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::access::keys::Scope;
use crate::routes::address::{named, resource};
use crate::routes::{corpora, documents};
use crate::service::answers::Request;
use crate::service::resources::Served;
use crate::wire::documents::DocumentObject;
use crate::wire::page::{Page, unknown_cursor};
use crate::wire::refusal::Refusal;

/// The most documents, or passages of a text, on a page.
const LIMIT: &str = "100";

/// The type of the texts, as which passages are kept whatever their document was.
const TYPE: &str = "text/plain";

/// How the addresses of resources are made.
pub(super) fn templates() -> Value {
    json!({ "resourceTemplates": [{
        "uriTemplate": "ken:{corpus}/{document}",
        "name": "document",
        "title": "A document",
        "description": "The text of a document, or of the passage whose id stands in its place",
        "mimeType": TYPE,
    }] })
}

/// A page of the documents of a corpus, oldest first. The cursor of the next is the address of the last document before
/// it, or of the next corpus.
///
/// # Errors
/// A key without the scope, a cursor that names nothing.
pub(super) async fn list(
    served: &Arc<Served>,
    request: &Request,
    params: &Value,
) -> Result<Value, Refusal> {
    request.caller.may(Scope::Search)?;
    let all = served.corpora.all().into_iter().filter(|corpus| {
        let lists = corpus.retriever.back_end().corpus().is_some();
        lists && request.caller.may_read(&corpus.name)
    });
    let readable: Vec<String> = all.map(|corpus| corpus.name.clone()).collect();
    let cursor = cursor(params)?;
    let place = match cursor {
        Some(cursor) => Some(named(cursor).ok_or_else(|| lost(cursor))?),
        None => readable.first().map(|first| (first.clone(), String::new())),
    };
    let Some((name, after)) = place else {
        return Ok(json!({ "resources": [] }));
    };
    let mut later = readable.iter().skip_while(|corpus| **corpus != name);
    if later.next().is_none() {
        return Err(lost(cursor.unwrap_or_default()));
    }
    let page = page(&after)?;
    let listed = documents::page_of_documents(served, request, name.clone(), String::new(), page);
    let listed = listed.await.map_err(|refusal| of_cursor(refusal, cursor))?;
    let last = listed.data.last().filter(|_| listed.has_more);
    let next = match last {
        Some(last) => Some(resource(&name, &last.doc_id)),
        None => later.next().map(|corpus| resource(corpus, "")),
    };
    let documents = listed
        .data
        .iter()
        .map(|document| described(&name, document));
    let resources: Vec<Value> = documents.collect();
    Ok(paged(json!({ "resources": resources }), next))
}

fn described(corpus: &str, document: &DocumentObject) -> Value {
    let title = match document.title.as_str() {
        "" => &document.doc_id,
        _ => &document.title,
    };
    json!({
        "uri": resource(corpus, &document.doc_id),
        "name": document.doc_id,
        "title": title,
        "mimeType": TYPE,
    })
}

/// The text of a document as it is searched, a page of its passages; or that of a passage. The cursor of the next page is
/// the id of the last passage before it.
///
/// # Errors
/// A key without the scope or for other corpora, an address that names nothing, a cursor that is no passage of it.
pub(super) async fn read(
    served: &Arc<Served>,
    request: &Request,
    params: &Value,
) -> Result<Value, Refusal> {
    request.caller.may(Scope::Search)?;
    let uri = params.get("uri").and_then(Value::as_str);
    let uri = uri.ok_or_else(|| Refusal::invalid("uri", "it has to be a text"))?;
    let (corpus, id) = named(uri).ok_or_else(|| {
        let message = format!("there is no resource {uri:?}: addresses are ken:CORPUS/DOCUMENT");
        Refusal::not_found("unknown_document", message)
    })?;
    let cursor = cursor(params)?;
    let page = page(cursor.unwrap_or_default())?;
    let listed = documents::page_of_passages(served, request, corpus.clone(), id.clone(), page);
    let listed = match listed.await {
        Ok(listed) => listed,
        // Search results name passages by such addresses, too.
        Err(refusal) => match corpora::read(served, corpus, id, request).await {
            Ok(passage) => return Ok(contents(uri, &passage.text)),
            Err(_) => return Err(of_cursor(refusal, cursor)),
        },
    };
    let last = listed.data.last().filter(|_| listed.has_more);
    let next = last.map(|last| last.passage_id.clone());
    let live = listed.data.iter().filter(|passage| !passage.pruned);
    let texts: Vec<&str> = live.map(|passage| passage.text.as_str()).collect();
    Ok(paged(contents(uri, &texts.join("\n\n")), next))
}

fn contents(uri: &str, text: &str) -> Value {
    json!({ "contents": [{ "uri": uri, "mimeType": TYPE, "text": text }] })
}

/// A result, with the cursor of the next page if there is one.
fn paged(mut result: Value, next: Option<String>) -> Value {
    if let Some(next) = next {
        result["nextCursor"] = next.into();
    }
    result
}

/// A page, oldest first, after this item, or from the beginning.
fn page(after: &str) -> Result<Page, Refusal> {
    let mut page = Page::default();
    for (name, value) in [("limit", LIMIT), ("order", "asc"), ("after", after)] {
        page.take(name, value)?;
    }
    Ok(page)
}

fn cursor(params: &Value) -> Result<Option<&str>, Refusal> {
    match params.get("cursor") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(cursor)) => Ok(Some(cursor)),
        Some(other) => Err(lost(&other.to_string())),
    }
}

fn lost(cursor: &str) -> Refusal {
    unknown_cursor("cursor", cursor)
}

/// A refusal of a page in the words of these lists.
fn of_cursor(refusal: Refusal, cursor: Option<&str>) -> Refusal {
    match (refusal.code(), cursor) {
        ("unknown_cursor", Some(cursor)) => lost(cursor),
        _ => refusal,
    }
}
