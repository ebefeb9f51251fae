//! Watches: what is there, then what comes. A watcher that reads too slowly is cut off; nothing is buffered for it.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use replank_apiserver::ApiError;
use replank_apiserver::json::Selection;
use serde_json::json;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use super::encode::Encode;
use super::list::{await_version, too_old};
use super::options::{self, Begin};
use crate::mirror::{Behind, Event, Happening, Mirror, Ring, StorageId, Stored};
use crate::query::Query;
use crate::route::Target;

/// Pieces that may wait for a client at once, besides what the connection takes.
const PIECES_MAX: usize = 16;
/// Events that are read from the ring at once.
const EVENTS_MAX: usize = 256;
/// How often a client that asks for bookmarks gets one.
const BOOKMARK_EVERY: Duration = Duration::from_secs(60);
/// How long a watch lasts that names no time: upstream draws between 30 and 60 minutes.
const LASTS: Duration = Duration::from_secs(45 * 60);

/// How long a client may take no more of what there is. A sleeping client keeps neither its connection nor the objects that it has not read.
const SLOW_MAX: Duration = Duration::from_secs(30);
/// Events that come together go together, up to so many bytes.
const PIECE_LEN: usize = 64 * 1024;

/// Begins a watch; the pieces of its answer.
///
/// # Errors
/// 400 and 422 for options that cannot be read or do not go together, 410 for a version whose changes are not kept any more.
pub async fn watch(
    mirror: Arc<Mirror>,
    target: Target,
    query: &Query,
    (encode, shown): (Arc<dyn Encode>, Option<Arc<dyn Shown>>),
) -> Result<mpsc::Receiver<Bytes>, ApiError> {
    let name = target.name.as_ref().map(|name| format!("metadata.name={name}"));
    let fields = name.as_deref().or(query.get("fieldSelector"));
    let selection = Selection::read(&target.resource, query.get("labelSelector"), fields)?;
    let begin = options::of_watch(query)?;
    let ring = mirror.ring(&StorageId::of_resource(&target.resource));
    let lasts = query.number("timeoutSeconds").and_then(|seconds| u64::try_from(seconds).ok());
    let lasts = lasts.filter(|seconds| *seconds > 0).map_or(LASTS, Duration::from_secs);
    let until = Instant::now() + lasts;
    if let Begin::List(version) = begin {
        await_version(&mirror, version).await?;
    }
    let (sender, pieces) = mpsc::channel(PIECES_MAX);
    let has_bookmarks = query.is_set("allowWatchBookmarks");
    let piece = BytesMut::new();
    let watcher =
        Watcher { mirror, ring, target, selection, encode, shown, sender, piece, until, has_bookmarks };
    tokio::spawn(watcher.run(begin));
    Ok(pieces)
}

/// Whether a watch can be begun at all.
///
/// # Errors
/// As [`watch`] for its options.
pub fn check_watch(target: &Target, query: &Query) -> Result<(), ApiError> {
    let name = target.name.as_ref().map(|name| format!("metadata.name={name}"));
    let fields = name.as_deref().or(query.get("fieldSelector"));
    Selection::read(&target.resource, query.get("labelSelector"), fields)?;
    options::of_watch(query).map(|_| ())
}

/// What becomes of an object that is shown.
pub type Showing<'a> = Pin<Box<dyn Future<Output = Result<Arc<Stored>, ApiError>> + Send + 'a>>;

/// Shows objects as something else than they are kept as.
pub trait Shown: fmt::Debug + Send + Sync {
    /// An object as it is shown.
    fn shown<'a>(&'a self, stored: &'a Stored) -> Showing<'a>;
}

struct Watcher {
    mirror: Arc<Mirror>,
    ring: Arc<Ring>,
    target: Target,
    selection: Selection,
    encode: Arc<dyn Encode>,
    /// How objects become what is asked for, where they are kept as something else.
    shown: Option<Arc<dyn Shown>>,
    sender: mpsc::Sender<Bytes>,
    /// What has been written and not handed on yet.
    piece: BytesMut,
    until: Instant,
    has_bookmarks: bool,
}

/// Why a watch ends.
enum Over {
    /// The client is gone, or the time is over.
    Done,
    /// Something is to be said first.
    Refused(ApiError),
}

impl Watcher {
    async fn run(mut self, begin: Begin) {
        if let Err(Over::Refused(error)) = self.tell_all(begin).await {
            self.encode.notice(&mut self.piece, "ERROR", &error.to_status());
            drop(self.flush().await);
        }
    }

    async fn tell_all(&mut self, begin: Begin) -> Result<(), Over> {
        let mut version = self.tell_objects(begin).await?;
        let mut next =
            self.ring.after(version).map_err(|Behind { since }| Over::Refused(too_old(version, since)))?;
        let mut bookmark = Instant::now() + BOOKMARK_EVERY;
        let ring = self.ring.clone();
        loop {
            let more = ring.more();
            let mut more = std::pin::pin!(more);
            more.as_mut().enable();
            let events = self.ring.from(next, EVENTS_MAX).map_err(|_| Over::Done)?;
            next += events.len() as u64;
            for event in &events {
                version = event.version;
                self.tell(event).await?;
            }
            if !events.is_empty() {
                self.flush().await?;
                continue;
            }
            tokio::select! {
                () = more => {}
                () = self.sender.closed() => return Err(Over::Done),
                () = sleep_until(self.until) => return Err(Over::Done),
                () = sleep_until(bookmark), if self.has_bookmarks => {
                    bookmark = Instant::now() + BOOKMARK_EVERY;
                    // Nothing was missed of this resource until now.
                    version = version.max(self.mirror.snapshot().version);
                    if self.ring.next() == next {
                        self.tell_bookmark(version, false).await?;
                    }
                }
            }
        }
    }

    /// What is there at the beginning; the version from which on changes are to be told.
    async fn tell_objects(&mut self, begin: Begin) -> Result<u64, Over> {
        let snapshot = self.mirror.snapshot();
        match begin {
            Begin::After(version) => return Ok(version),
            Begin::Latest => return Ok(snapshot.version),
            Begin::Objects | Begin::List(_) => {}
        }
        let collection = snapshot.collection(&StorageId::of_resource(&self.target.resource));
        for (_, stored) in &collection {
            if self.is_wanted(stored) {
                self.send(Happening::Added, stored, None).await?;
            }
        }
        self.flush().await?;
        if matches!(begin, Begin::List(_)) && self.has_bookmarks {
            self.tell_bookmark(snapshot.version, true).await?;
        }
        Ok(snapshot.version)
    }

    fn is_wanted(&self, stored: &Stored) -> bool {
        let namespace = self.target.namespace.as_ref();
        namespace.is_none_or(|namespace| *namespace == stored.meta().namespace)
            && self.selection.matches(&stored.object)
    }

    /// A change as it is seen through the selectors: an object that comes to match appears, one that ceases to match goes.
    async fn tell(&mut self, event: &Event) -> Result<(), Over> {
        let was = event.before.as_ref().filter(|before| self.is_wanted(before));
        let is = event.what != Happening::Deleted && self.is_wanted(&event.object);
        match (was, is) {
            (None, false) => Ok(()),
            (None, true) => self.send(Happening::Added, &event.object, None).await,
            (Some(_), true) => self.send(Happening::Modified, &event.object, None).await,
            (Some(_), false) if event.what == Happening::Deleted => {
                self.send(Happening::Deleted, &event.object, Some(event.version)).await
            }
            (Some(before), false) => self.send(Happening::Deleted, before, Some(event.version)).await,
        }
    }

    /// `version` is that of the change, where the object does not have it itself.
    async fn send(&mut self, what: Happening, stored: &Stored, version: Option<u64>) -> Result<(), Over> {
        match self.shown.clone() {
            None => self.encode.event(&mut self.piece, what.as_str(), (&self.target, stored), version),
            Some(shown) => {
                let shown = shown.shown(stored).await.map_err(Over::Refused)?;
                self.encode.event(&mut self.piece, what.as_str(), (&self.target, &shown), version);
            }
        }
        match self.piece.len() < PIECE_LEN {
            true => Ok(()),
            false => self.flush().await,
        }
    }

    async fn tell_bookmark(&mut self, version: u64, is_end_of_objects: bool) -> Result<(), Over> {
        let resource = &self.target.resource;
        let mut metadata = json!({"resourceVersion": version.to_string()});
        if is_end_of_objects {
            metadata["annotations"] = json!({"k8s.io/initial-events-end": "true"});
        }
        let object =
            json!({"kind": &*resource.name.kind, "apiVersion": resource.api_version(), "metadata": metadata});
        self.encode.notice(&mut self.piece, "BOOKMARK", &object);
        self.flush().await
    }

    /// Hands on what has been written; a client that does not take it in time ends the watch.
    async fn flush(&mut self) -> Result<(), Over> {
        if self.piece.is_empty() {
            return Ok(());
        }
        let piece = self.piece.split().freeze();
        let until = self.until.min(Instant::now() + SLOW_MAX);
        match tokio::time::timeout_at(until, self.sender.send(piece)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(Over::Done),
        }
    }
}
