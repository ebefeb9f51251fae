//! The line to the API server that lists, watches and writes of one driver share: its clock, its credentials, its budget of requests.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use http::{HeaderMap, Response};
use http_body_util::BodyExt as _;
use kube::client::Body;
use replank_model::text::RunId;
use replank_model::time::{Span, Time};
use tokio::sync::mpsc;

use super::backoff::Backoff;
use super::bucket::Bucket;
use super::clock::Clock;
use super::event::Event;
use super::options::Options;
use super::told::Told;
use crate::connect::{Call, Connection, JSON, causes, date};
use crate::error::LiveError;
use crate::lease::Term;

/// How long an answer may take to be there as a whole: the server itself gives up after a minute.
const ANSWER_MAX: Duration = Duration::from_secs(65);

/// See the module's page.
pub(super) struct Line {
    connection: Connection,
    pub(super) clock: Clock,
    pub(super) bucket: Bucket,
    told: mpsc::Sender<Told>,
    run: RunId,
    /// How long credentials that are not accepted are tried anew.
    unauthorized_for: Duration,
    /// Since when the credentials have not been accepted.
    unauthorized: Mutex<Option<Instant>>,
    /// One at a time reads credentials.
    renewing: tokio::sync::Mutex<()>,
    /// How long anything may be written.
    terms: Vec<Term>,
}

/// A whole answer.
#[derive(Debug)]
pub(super) struct Heard {
    pub(super) code: u16,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Silence {
    /// The request cannot have arrived: no connection came about.
    Unsent(String),
    /// It may have arrived.
    Lost(String),
    /// The credentials were not accepted until it was too late.
    Late,
}

impl Silence {
    pub(super) fn words(self) -> String {
        match self {
            Self::Unsent(why) | Self::Lost(why) => why,
            Self::Late => "the credentials were not accepted in time".to_owned(),
        }
    }
}

impl Line {
    pub(super) fn new(connection: Connection, options: &Options, told: mpsc::Sender<Told>) -> Self {
        Self {
            connection,
            clock: Clock::new(),
            bucket: Bucket::new(options.requests_per_second),
            run: options.run.clone(),
            told,
            unauthorized_for: options.unauthorized_for,
            unauthorized: Mutex::default(),
            renewing: tokio::sync::Mutex::default(),
            terms: options.terms.clone(),
        }
    }

    /// Whether anything may be written: nobody else may be at it.
    pub(super) fn may_write(&self) -> bool {
        self.terms.iter().all(Term::holds)
    }

    /// Tells the driver something. A driver that is gone hears nothing, and needs nothing.
    pub(super) async fn tell(&self, told: Told) {
        drop(self.told.send(told).await);
    }

    pub(super) async fn story(&self, event: Event) {
        self.tell(Told::Event(event)).await;
    }

    /// Sends a request, and waits for the whole answer.
    pub(super) async fn ask(&self, call: &Call, deadline: Option<Time>) -> Result<Heard, Silence> {
        let response = self.begin(call, deadline).await?;
        let (code, headers) = (response.status().as_u16(), response.headers().clone());
        let body = tokio::time::timeout(ANSWER_MAX, response.into_body().collect()).await;
        let body = body.map_err(|_| Silence::Lost("the answer did not come to its end".to_owned()))?;
        let body = body.map_err(|error| Silence::Lost(causes(&error)))?.to_bytes().to_vec();
        Ok(Heard { code, headers, body })
    }

    /// Sends a request, and returns as soon as an answer begins. Where the credentials are not accepted, new ones are read, and it is sent again: such an answer means that nothing was done.
    pub(super) async fn begin(&self, call: &Call, deadline: Option<Time>) -> Result<Response<Body>, Silence> {
        let mut backoff = Backoff::new(format!("{}/credentials", self.run));
        loop {
            let sent = Instant::now();
            let turn = self.connection.turn();
            let answer = tokio::time::timeout(ANSWER_MAX, self.connection.exchange(call, JSON)).await;
            let why = match answer {
                Err(_) => {
                    return Err(Silence::Lost(format!("no answer within {} s", ANSWER_MAX.as_secs())));
                }
                Ok(Ok((response, _))) => {
                    if let Some(date) = date(response.headers()) {
                        self.clock.heard(date, sent);
                    }
                    if response.status().as_u16() != 401 {
                        self.accepted(sent).await;
                        return Ok(response);
                    }
                    "401 Unauthorized".to_owned()
                }
                Ok(Err(LiveError::Credentials { why, .. })) => why,
                Ok(Err(error)) => return Err(silence(&error)),
            };
            if deadline.is_some_and(|deadline| self.clock.now() > deadline) {
                return Err(Silence::Late);
            }
            self.not_accepted(turn, why, &mut backoff).await;
            // Somebody else may be at it by now; what only reads has no deadline.
            if deadline.is_some() && !self.may_write() {
                return Err(Silence::Late);
            }
        }
    }

    /// The credentials are accepted, of a request that was sent then. One that was sent before they were refused says nothing of now.
    async fn accepted(&self, sent: Instant) {
        let was = self.unauthorized().take_if(|since| *since <= sent);
        if was.is_some() {
            self.story(Event::Authorized).await;
        }
    }

    /// The credentials were not accepted: reads them anew. After a while ([`Options::unauthorized_for`]) the driver is told to end.
    async fn not_accepted(&self, turn: u64, why: String, backoff: &mut Backoff) {
        let (since, is_first) = {
            let mut unauthorized = self.unauthorized();
            let is_first = unauthorized.is_none();
            (*unauthorized.get_or_insert_with(Instant::now), is_first)
        };
        if is_first {
            self.story(Event::Unauthorized { why }).await;
        }
        if since.elapsed() > self.unauthorized_for {
            let (server, context) = (self.connection.server(), self.connection.context());
            let error = LiveError::Unauthorized { server: server.to_owned(), context: context.to_owned() };
            self.tell(Told::End(error)).await;
        }
        let renewed = {
            let _one = self.renewing.lock().await;
            self.connection.renew(turn).await
        };
        // The first time with new credentials, it is tried at once.
        if !(is_first && renewed.is_ok()) {
            tokio::time::sleep(backoff.next()).await;
        }
    }

    fn unauthorized(&self) -> std::sync::MutexGuard<'_, Option<Instant>> {
        self.unauthorized.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for leave to send one request; whether it came before the deadline.
    pub(super) async fn leave(&self, deadline: Time) -> bool {
        loop {
            if self.clock.now() > deadline {
                return false;
            }
            match self.bucket.take() {
                Ok(()) => return true,
                Err(wait) => tokio::time::sleep(wait.min(Duration::from_secs(1))).await,
            }
        }
    }

    /// Leaves the server alone for as long as it asks for.
    pub(super) async fn pause(&self, call: &Call, pause: Duration) {
        self.bucket.close(pause);
        let request = format!("{} {}", call.method, call.path);
        let pause = Span::from_millis(i64::try_from(pause.as_millis()).unwrap_or(i64::MAX));
        self.story(Event::Throttled { request, pause: pause.rounded() }).await;
    }
}

/// What is known of a request that was not answered.
fn silence(error: &LiveError) -> Silence {
    let why = match error {
        LiveError::Unreachable { why, .. } | LiveError::Certificate { why, .. } => why.clone(),
        LiveError::NoKubeconfig { .. }
        | LiveError::Kubeconfig { .. }
        | LiveError::NoContext { .. }
        | LiveError::NoCurrentContext { .. }
        | LiveError::Credentials { .. }
        | LiveError::Unauthorized { .. }
        | LiveError::Forbidden { .. }
        | LiveError::Refused { .. }
        | LiveError::Unreadable { .. }
        | LiveError::TooOld { .. }
        | LiveError::Write { .. } => error.to_string(),
    };
    // How hyper's client says that no connection came about, so that nothing was sent.
    if why.contains("client error (Connect)") { Silence::Unsent(why) } else { Silence::Lost(why) }
}
