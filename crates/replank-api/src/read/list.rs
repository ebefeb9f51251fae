//! Lists: a version of a collection, what is selected of it, page by page.

use std::sync::Arc;
use std::time::Duration;

use replank_apiserver::ApiError;
use replank_apiserver::json::Selection;
use replank_model::object::meta::Key;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::options::{self, Wanted};
use super::page::Continue;
use crate::mirror::{Behind, Collection, ListKey, Mirror, StorageId, Stored, undone};
use crate::query::Query;
use crate::route::Target;

/// How long a list waits for a version that is not there yet, as upstream does.
const WAIT_MAX: Duration = Duration::from_secs(3);

/// What a list holds; how it is written is the encoding's matter.
#[derive(Debug)]
pub struct Listed {
    /// `metadata` of the list.
    pub metadata: Value,
    /// Its items, in order.
    pub items: Vec<Arc<Stored>>,
}

/// What a list holds.
///
/// # Errors
/// 400 and 422 for options that cannot be read or do not go together, 410 for a version that is not kept any more, 504 for one that does not come.
pub async fn list(mirror: &Mirror, target: &Target, query: &Query) -> Result<Listed, ApiError> {
    let labels = query.get("labelSelector");
    let mut fields = query.get("fieldSelector").map(str::to_owned);
    // An object that is watched by its path.
    if let Some(name) = &target.name {
        fields = Some(format!("metadata.name={name}"));
    }
    let selection = Selection::read(&target.resource, labels, fields.as_deref())?;
    let is_selective =
        labels.is_some_and(|text| !text.is_empty()) || fields.is_some_and(|text| !text.is_empty());
    let from = query.text("continue").map(Continue::read).transpose()?;
    let wanted = options::of_list(query)?;
    if from.is_some() && query.text("resourceVersion").is_some_and(|version| version != "0") {
        let why = "specifying resource version is not allowed when using continue";
        return Err(ApiError::bad_request(why));
    }
    let (collection, version) = collection(mirror, target, (wanted, from.as_ref())).await?;
    let limit =
        query.number("limit").and_then(|limit| usize::try_from(limit).ok()).filter(|limit| *limit > 0);
    let mut page = Page { items: Vec::new(), more: 0, last: None };
    page.fill(&collection, target, &selection, from.as_ref(), limit);
    let mut metadata = json!({"resourceVersion": version.to_string()});
    if let Some(last) = page.last.filter(|_| page.more > 0) {
        metadata["continue"] = Continue::after(&last, version).write().into();
        if !is_selective {
            metadata["remainingItemCount"] = page.more.into();
        }
    }
    Ok(Listed { metadata, items: page.items })
}

struct Page {
    items: Vec<Arc<Stored>>,
    /// How many come after, selected or not.
    more: usize,
    /// The last one that is in.
    last: Option<String>,
}

impl Page {
    fn fill(
        &mut self,
        collection: &Collection,
        target: &Target,
        selection: &Selection,
        from: Option<&Continue>,
        limit: Option<usize>,
    ) {
        let wanted = target.namespace.as_ref();
        // Those of one namespace stand side by side.
        let mut first = ListKey(Key { namespace: wanted.cloned().unwrap_or_default(), ..Key::default() });
        if let Some(from) = from {
            first = first.max(from.start());
        }
        let mut last = None;
        for (key, stored) in collection.range(first..) {
            if wanted.is_some_and(|wanted| *wanted != key.0.namespace) {
                break;
            }
            // Whether those that come after a full page are selected is found out with the next one (apiserver `storage/etcd3`, `GetList`).
            if limit.is_some_and(|limit| self.items.len() == limit) {
                self.more += 1;
                continue;
            }
            if !selection.matches(&stored.object) {
                continue;
            }
            last = Some(key);
            self.items.push(stored.clone());
        }
        self.last = last.map(|key| key.0.to_string());
    }
}

/// The collection in the version that is asked for, and that version.
async fn collection(
    mirror: &Mirror,
    target: &Target,
    (wanted, from): (Wanted, Option<&Continue>),
) -> Result<(Collection, u64), ApiError> {
    let id = StorageId::of_resource(&target.resource);
    let outdated = mirror.outdated();
    if let Some(version) = from.and_then(Continue::version) {
        if outdated.is_some_and(|outdated| version <= outdated) {
            return Err(expired(from));
        }
        return at(mirror, &id, version).map_err(|Behind { .. }| expired(from));
    }
    match wanted {
        Wanted::Latest | Wanted::Any => {}
        Wanted::NotOlderThan(version) => await_version(mirror, version).await?,
        Wanted::Exact(version) => {
            // One that is not there yet is not waited for.
            let now = mirror.snapshot().version;
            if version > now {
                return Err(ApiError {
                    retry_after_seconds: None,
                    ..ApiError::too_large_version(version, now)
                });
            }
            return at(mirror, &id, version).map_err(|Behind { since }| too_old(version, since));
        }
    }
    let snapshot = mirror.snapshot();
    Ok((snapshot.collection(&id), snapshot.version))
}

/// A collection as it was at a version.
fn at(mirror: &Mirror, id: &StorageId, version: u64) -> Result<(Collection, u64), Behind> {
    let ring = mirror.ring(id);
    let snapshot = mirror.snapshot();
    let first = ring.after(version)?;
    let later = ring.from(first, usize::MAX)?;
    let later: Vec<_> = later.into_iter().filter(|event| event.version <= snapshot.version).collect();
    Ok((undone(snapshot.collection(id), &later), version))
}

/// Waits until a version is there.
pub(super) async fn await_version(mirror: &Mirror, version: u64) -> Result<(), ApiError> {
    let mut versions = mirror.versions();
    let is_there = timeout(WAIT_MAX, versions.wait_for(|now| *now >= version)).await;
    if matches!(is_there, Ok(Ok(_))) {
        return Ok(());
    }
    let now = mirror.snapshot().version;
    Err(ApiError::too_large_version(version, now))
}

/// 410, an old version.
pub(super) fn too_old(version: u64, since: u64) -> ApiError {
    ApiError::expired(&format!("too old resource version: {version} ({since})"))
}

/// 410, a page of a list that is not kept any more, with a token that goes on with the latest.
fn expired(from: Option<&Continue>) -> ApiError {
    let error = ApiError::expired(
        "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use \
         the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - \
         objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.",
    );
    match from {
        Some(from) => error.with_continue(from.anew().write()),
        None => error,
    }
}
