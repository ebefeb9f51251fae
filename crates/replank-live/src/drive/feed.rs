//! One resource, listed and then watched for as long as the driver works.
//!
//! A list is read page by page and is consistent: it has no `resourceVersion` parameter. A watch goes on from the version that was seen last; where the server no longer has it, the resource
//! is listed anew.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http::Response;
use http_body_util::BodyExt as _;
use kube::client::Body;
use replank_model::text::RunId;
use replank_model::time::Span;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::time::timeout;
use xxhash_rust::xxh3::xxh3_64;

use super::backoff::Backoff;
use super::event::Event;
use super::heard::retry_after;
use super::line::{Heard, Line, Silence};
use super::read::{Reader, reference};
use super::source::Source;
use super::told::{Seen, Told};
use crate::connect::{Call, causes};
use crate::error::LiveError;

/// Objects in one page: what kubectl asks for (`--chunk-size`).
const PAGE: usize = 500;
/// Seconds after which the server is to end a watch; it begins anew at once. Those of different resources do not end together.
const WATCH_MAX: u64 = 300;
const WATCH_MIN: u64 = 240;
/// How long a watch may take to begin until it counts as one that is away: credentials may be read anew meanwhile.
const BEGIN_MAX: Duration = Duration::from_secs(5);
/// How long a watch may be silent: servers send bookmarks every minute. One that is silent for longer may have been forgotten on the way.
const SILENT_MAX: Duration = Duration::from_secs(90);

/// Follows one resource; ends only with the driver.
pub(super) struct Feed {
    pub(super) line: Arc<Line>,
    pub(super) source: Source,
    /// Its place among those that are followed.
    pub(super) place: usize,
    reader: Reader,
    backoff: Backoff,
    /// Whether the driver has been told that it is not seen.
    is_down: bool,
}

/// Why a list or a watch ended.
enum Ended {
    /// As planned, or because the server ended it: it goes on at once.
    Closed,
    /// The server no longer has what comes next.
    Expired(String),
    /// The server asks for a pause.
    Busy(Duration),
    /// It broke off.
    Broken(String),
    /// It may not be read, or is not served.
    No(Heard),
}

impl Feed {
    pub(super) fn new(line: Arc<Line>, source: Source, place: usize, run: &RunId) -> Self {
        let backoff = Backoff::new(format!("{run}/{}", source.name()));
        Self { line, source, place, reader: Reader::default(), backoff, is_down: true }
    }

    /// See the module's page.
    pub(super) async fn follow(mut self) {
        let mut has_been_whole = false;
        let mut page = Some(PAGE);
        loop {
            match self.list(page).await {
                Ok(version) => {
                    (has_been_whole, page) = (true, Some(PAGE));
                    let why = self.watch_on(version).await;
                    self.see(vec![Seen::Down]).await;
                    self.is_down = true;
                    self.line.story(Event::Relisting { resource: self.source.name(), why }).await;
                }
                // What was begun is no longer to be had: the next attempt asks for everything at once.
                Err(Ended::Expired(_)) => page = None,
                Err(Ended::No(heard)) if !has_been_whole => {
                    if self.never(&heard).await {
                        return;
                    }
                }
                Err(ended) => self.lost(ended).await,
            }
        }
    }

    /// Lists the resource; the version from which it can be watched.
    async fn list(&mut self, page: Option<usize>) -> Result<String, Ended> {
        self.see(vec![Seen::ListBegins]).await;
        let mut token = String::new();
        loop {
            let mut query: Vec<String> = page.iter().map(|page| format!("limit={page}")).collect();
            query.extend(self.source.label.map(|label| format!("labelSelector={label}")));
            if !token.is_empty() {
                query.push(format!("continue={token}"));
            }
            let path = format!("{}?{}", self.source.path(), query.join("&"));
            let heard = self.line.ask(&Call::get(path), None).await;
            let heard = heard.map_err(|silence| Ended::Broken(silence.words()))?;
            match heard.code {
                200 => {}
                _ => return Err(ended(heard)),
            }
            let broken = |why: String| Ended::Broken(format!("the list cannot be read: {why}"));
            // Object by object: a page of them all at once would take more than thousands that are kept.
            let told: BTreeMap<String, &RawValue> =
                serde_json::from_slice(&heard.body).map_err(|error| broken(error.to_string()))?;
            let member = |name: &str| told.get(name).map_or("null", |value| value.get());
            let items: Option<Vec<&RawValue>> = serde_json::from_str(member("items"))
                .map_err(|error| broken(format!("its items are no list: {error}")))?;
            let mut seen = Vec::new();
            for item in items.unwrap_or_default() {
                let item = serde_json::from_str(item.get()).map_err(|error| broken(error.to_string()))?;
                seen.push(self.reader.object(&self.source, item));
            }
            let meta: Value =
                serde_json::from_str(member("metadata")).map_err(|error| broken(error.to_string()))?;
            drop(told);
            drop(heard);
            self.see(seen).await;
            if let Some(next) = meta["continue"].as_str().filter(|next| !next.is_empty()) {
                next.clone_into(&mut token);
                continue;
            }
            let version = meta["resourceVersion"].as_str().unwrap_or_default().to_owned();
            if version.is_empty() || version == "0" {
                return Err(broken("it has no version".to_owned()));
            }
            self.see(vec![Seen::ListEnds]).await;
            return Ok(version);
        }
    }

    /// Watches on from a version until the server no longer has what comes next; its words.
    async fn watch_on(&mut self, mut version: String) -> String {
        loop {
            match self.watch(&mut version).await {
                Ended::Closed => {}
                Ended::Expired(why) => return why,
                ended @ (Ended::Busy(_) | Ended::Broken(_) | Ended::No(_)) => self.lost(ended).await,
            }
        }
    }

    /// One watch; moves the version on with everything that is seen.
    async fn watch(&mut self, version: &mut String) -> Ended {
        let label = self.source.label.map(|label| format!("&labelSelector={label}")).unwrap_or_default();
        let seconds = WATCH_MIN + xxh3_64(self.source.name().as_bytes()) % (WATCH_MAX - WATCH_MIN);
        let path = format!(
            "{}?watch=1&allowWatchBookmarks=true&timeoutSeconds={seconds}&resourceVersion={version}{label}",
            self.source.path()
        );
        let response = match self.begin(&Call::get(path)).await {
            Ok(response) => response,
            Err(silence) => return Ended::Broken(silence.words()),
        };
        let (code, headers) = (response.status().as_u16(), response.headers().clone());
        let mut body = response.into_body();
        if code != 200 {
            let body = body.collect().await.map(|body| body.to_bytes().to_vec()).unwrap_or_default();
            return ended(Heard { code, headers, body });
        }
        self.is_seen().await;
        let (mut rest, begun) = (Vec::new(), Instant::now());
        loop {
            let frame = match timeout(SILENT_MAX, body.frame()).await {
                Ok(Some(Ok(frame))) => frame,
                Ok(None) if rest.is_empty() => return closed(begun),
                Ok(None) => return Ended::Broken("the watch broke off within an event".to_owned()),
                Ok(Some(Err(error))) => return Ended::Broken(causes(&error)),
                // Nothing says that anything is wrong: another watch goes on from here.
                Err(_) => return Ended::Closed,
            };
            let Ok(data) = frame.into_data() else { continue };
            rest.extend_from_slice(&data);
            let Some(last) = rest.iter().rposition(|byte| *byte == b'\n') else { continue };
            let lines: Vec<u8> = rest.drain(..=last).collect();
            let (seen, end) = self.events(&lines, version);
            self.see(seen).await;
            if let Some(end) = end {
                return end;
            }
        }
    }

    /// Begins a watch. One that takes a while is away meanwhile.
    async fn begin(&mut self, call: &Call) -> Result<Response<Body>, Silence> {
        let line = self.line.clone();
        let mut response = pin!(line.begin(call, None));
        if let Ok(response) = timeout(BEGIN_MAX, &mut response).await {
            return response;
        }
        self.is_down = true;
        self.see(vec![Seen::Down]).await;
        response.await
    }

    /// What whole lines of a watch say, and whether it ends with one of them.
    fn events(&mut self, lines: &[u8], version: &mut String) -> (Vec<Seen>, Option<Ended>) {
        let mut seen = Vec::new();
        for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let mut event: Value = match serde_json::from_slice(line) {
                Ok(event) => event,
                Err(error) => {
                    let why = format!("an event of the watch cannot be read: {error}");
                    return (seen, Some(Ended::Expired(why)));
                }
            };
            let object = event["object"].take();
            let next = object["metadata"]["resourceVersion"].as_str().map(str::to_owned);
            match event["type"].as_str() {
                Some("ADDED" | "MODIFIED") => seen.push(self.reader.object(&self.source, object)),
                Some("DELETED") => seen.push(Seen::Gone(reference(&self.source, &object))),
                Some("BOOKMARK") => {}
                Some("ERROR") => {
                    let message = object["message"].as_str().unwrap_or("without a message").to_owned();
                    let is_expired = object["code"] == 410;
                    let end = if is_expired { Ended::Expired(message) } else { Ended::Broken(message) };
                    return (seen, Some(end));
                }
                Some(_) | None => {
                    let why = format!("the watch sent an event of type {}", event["type"]);
                    return (seen, Some(Ended::Expired(why)));
                }
            }
            if let Some(next) = next {
                *version = next;
            }
        }
        (seen, None)
    }

    /// It is seen: the driver is told if it was not.
    async fn is_seen(&mut self) {
        self.backoff.reset();
        if std::mem::take(&mut self.is_down) {
            self.see(vec![Seen::Up]).await;
        }
    }

    /// It is not seen at the moment: says so and waits.
    async fn lost(&mut self, ended: Ended) {
        let (why, pause) = match ended {
            Ended::Closed => ("the server ended it".to_owned(), self.backoff.next()),
            Ended::Expired(why) | Ended::Broken(why) => (why, self.backoff.next()),
            Ended::Busy(pause) => ("the server asks for fewer requests".to_owned(), pause),
            Ended::No(heard) => (heard.message(), self.backoff.next()),
        };
        self.is_down = true;
        self.see(vec![Seen::Down]).await;
        let again_in = Span::from_millis(i64::try_from(pause.as_millis()).unwrap_or(i64::MAX));
        self.line.story(Event::Lost { resource: self.source.name(), why, again_in }).await;
        tokio::time::sleep(pause).await;
    }

    /// It was never seen, and the server says that it never will be; whether the driver does without.
    async fn never(&mut self, heard: &Heard) -> bool {
        if self.source.is_optional || heard.code == 404 {
            let resource = self.source.name();
            self.see(vec![Seen::Never]).await;
            self.line.story(Event::Unseen { resource, why: heard.message() }).await;
            return true;
        }
        let missing = crate::error::Missing { verbs: &["list", "watch"], ..self.source.resource.rule() };
        let error = LiveError::Forbidden { message: heard.message(), missing };
        self.line.tell(Told::End(error)).await;
        true
    }

    async fn see(&self, seen: Vec<Seen>) {
        if !seen.is_empty() {
            self.line.tell(Told::Seen(self.place, seen)).await;
        }
    }
}

/// A watch that ends sooner than it was to is not begun anew without a pause, or a server that ends each at once would be asked without end.
fn closed(begun: Instant) -> Ended {
    const SOON: Duration = Duration::from_secs(1);
    match begun.elapsed() < SOON {
        true => Ended::Broken("the server ended the watch at once".to_owned()),
        false => Ended::Closed,
    }
}

fn ended(heard: Heard) -> Ended {
    match heard.code {
        410 => Ended::Expired(heard.message()),
        429 => Ended::Busy(retry_after(&heard).unwrap_or(Duration::from_secs(1))),
        403 | 404 => Ended::No(heard),
        code => Ended::Broken(format!("{code}: {}", heard.message())),
    }
}
