//! One holder at a time: a Lease (`coordination.k8s.io/v1`) with a margin.
//!
//! The holder renews it every few seconds. What it writes, and what others compare, is the server's clock (`Date`), never this machine's time of day. The holder stops
//! a margin before another may take it, counted on its own from the moment at which it began the last renewal that was answered: so an answer that is lost, a server
//! that does not answer, or a process that stood still ends its term in time. It goes on trying for a while, as a server may be away for minutes: a Lease that nobody has taken meanwhile is
//! renewed, and a new term begins.

use std::fmt;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use http::Method;
use http_body_util::BodyExt as _;
use replank_model::time::{Span, Time};
use serde_json::{Value, json};

use crate::connect::{Call, Connection, JSON, date};
use crate::error::{LiveError, Missing};

/// How long a Lease holds without being renewed.
const LASTS: Duration = Duration::from_secs(30);
/// How long before that its holder stops. Two clocks of whole seconds differ by two at most; the rest is for what is on its way.
const MARGIN: Duration = Duration::from_secs(10);
/// How often it is renewed.
const RENEWED_EVERY: Duration = Duration::from_secs(5);
/// How soon a renewal that was not answered is tried again, and how long one may take.
const AGAIN: Duration = Duration::from_secs(1);
const ANSWER_MAX: Duration = Duration::from_secs(5);
/// How long after its last renewal it is tried to renew it: longer than credentials that are not accepted are tried, so that these are named.
const GIVEN_UP_AFTER: Duration = Duration::from_mins(12);
/// How often it is read once more where somebody else was faster.
const TRIES: u32 = 5;
const PATCH: &str = "application/json-patch+json";

/// Who holds a Lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// As it names itself.
    pub identity: String,
    /// Since when, by the server's clock.
    pub since: Option<Time>,
    /// When another may take it, unless it is renewed.
    pub until: Option<Time>,
}

impl fmt::Display for Holder {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.identity)?;
        self.since.map_or(Ok(()), |since| write!(out, ", since {since}"))
    }
}

/// What came of an attempt to take a Lease.
#[derive(Debug)]
pub enum Attempt {
    /// It is ours.
    Taken(Box<Lease>),
    /// Somebody else holds it.
    HeldBy(Holder),
}

/// Whether a Lease is still held. It can be asked from anywhere.
#[derive(Clone, Debug)]
pub struct Term(Arc<Mutex<Renewed>>);

/// When the last renewal that was answered began: on a clock that only runs forward, and on one that runs on while the machine sleeps.
#[derive(Clone, Copy, Debug)]
struct Renewed {
    at: Instant,
    of_day: SystemTime,
    is_lost: bool,
}

impl Term {
    /// Whether its holder may act.
    #[must_use]
    pub fn holds(&self) -> bool {
        let renewed = self.renewed();
        let most = LASTS - MARGIN;
        // A time of day that was set back says nothing.
        let slept = renewed.of_day.elapsed().is_ok_and(|elapsed| elapsed >= most);
        !renewed.is_lost && renewed.at.elapsed() < most && !slept
    }

    fn since(at: Instant, of_day: SystemTime) -> Self {
        Self(Arc::new(Mutex::new(Renewed { at, of_day, is_lost: false })))
    }

    /// For how long it has not been renewed.
    fn age(&self) -> Duration {
        let renewed = self.renewed();
        renewed.at.elapsed().max(renewed.of_day.elapsed().unwrap_or_default())
    }

    fn renewed(&self) -> Renewed {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, renewed: Renewed) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = renewed;
    }
}

/// A Lease that is ours.
#[derive(Debug)]
pub struct Lease {
    place: Place,
    identity: String,
    uid: String,
    version: String,
    taken: Taken,
    term: Term,
}

/// What tells one time at which a Lease was taken from another: also where two holders name themselves alike.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Taken {
    at: String,
    transitions: i64,
}

/// What was written to take a Lease, and when that began.
struct Written {
    taken: Taken,
    at: Instant,
    of_day: SystemTime,
}

/// Where a Lease is.
#[derive(Clone, Debug)]
struct Place {
    connection: Connection,
    namespace: String,
    name: String,
}

/// What the server says of a Lease.
struct Told {
    uid: String,
    version: String,
    taken: Taken,
    holder: Option<Holder>,
    now: Time,
}

impl Lease {
    /// Takes a Lease that nobody holds, or whose holder has not renewed it in time.
    ///
    /// # Errors
    /// Where the server does not answer, or says no.
    pub async fn take(
        connection: &Connection,
        (namespace, name): (&str, &str),
        identity: &str,
    ) -> Result<Attempt, LiveError> {
        let place =
            Place { connection: connection.clone(), namespace: namespace.to_owned(), name: name.to_owned() };
        // Whatever was sent may still arrive.
        let mut written: Vec<Written> = Vec::new();
        let mut tries = 0;
        loop {
            tries += 1;
            let is_last = tries >= TRIES;
            // Before the server is asked what time it is: however late it answers, the term does not outlast what is written.
            let (at, of_day) = (Instant::now(), SystemTime::now());
            let told = match place.read().await {
                Ok(told) => told,
                Err(error) if !is_last && may_pass(&error) => {
                    tokio::time::sleep(AGAIN).await;
                    continue;
                }
                Err(error) => return Err(error),
            };
            if let Ok(told) = &told
                && let Some(written) = written.iter().find(|one| one.taken == told.taken)
            {
                // It was carried out, and its answer was lost, or came to what was sent once more on the way.
                return Ok(Attempt::Taken(Box::new(Self {
                    place,
                    identity: identity.to_owned(),
                    uid: told.uid.clone(),
                    version: told.version.clone(),
                    taken: written.taken.clone(),
                    term: Term::since(written.at, written.of_day),
                })));
            }
            let (now, transitions) = match &told {
                Ok(told) => (told.now, told.taken.transitions + 1),
                Err(now) => (*now, 0),
            };
            let taken = Taken { at: own(now), transitions };
            let spec = spec(identity, &taken, now);
            let sent = match told {
                Ok(Told { holder: Some(holder), now, .. })
                    if holder.until.is_none_or(|until| now < until) =>
                {
                    // Also where it names itself as we do: in containers, processes of one number on hosts of one name are two.
                    return Ok(Attempt::HeldBy(holder));
                }
                Ok(told) => {
                    let change = json!([{"op": "add", "path": "/spec", "value": spec}]);
                    place.patch(&told.uid, &told.version, &change).await
                }
                Err(_) => place.create(&spec).await,
            };
            written.push(Written { taken: taken.clone(), at, of_day });
            match sent {
                Ok((200..=299, body)) => {
                    let (uid, version) = named(&body);
                    let (term, identity) = (Term::since(at, of_day), identity.to_owned());
                    return Ok(Attempt::Taken(Box::new(Self { place, identity, uid, version, taken, term })));
                }
                // Somebody was faster, or it has just been given up: it is read once more.
                Ok((404 | 409 | 422, _)) if !is_last => {}
                // It may be there all the same: it is read once more.
                Ok((500..=599, _)) if !is_last => tokio::time::sleep(AGAIN).await,
                Err(error) if !is_last && may_pass(&error) => tokio::time::sleep(AGAIN).await,
                Ok((code, body)) => return Err(place.refused(code, &body)),
                Err(error) => return Err(error),
            }
        }
    }

    /// Who holds a Lease at the moment, if anybody does.
    ///
    /// # Errors
    /// Where the server does not answer, or says no.
    pub async fn holder(
        connection: &Connection,
        (namespace, name): (&str, &str),
    ) -> Result<Option<Holder>, LiveError> {
        let place =
            Place { connection: connection.clone(), namespace: namespace.to_owned(), name: name.to_owned() };
        let told = place.read().await?.ok();
        Ok(told
            .and_then(|told| told.holder.filter(|holder| holder.until.is_none_or(|until| told.now < until))))
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.place.name
    }

    /// Whether it is still held.
    #[must_use]
    pub fn term(&self) -> Term {
        self.term.clone()
    }

    /// Renews it for as long as that can be done. Where no answer comes, the term ends ([`Term::holds`]), and it is tried on for some minutes: unless somebody else has taken it, another term
    /// begins. Returns when it is lost, with who holds it then, where that is known.
    pub async fn keep(&mut self) -> Option<Holder> {
        let mut pause = RENEWED_EVERY;
        loop {
            tokio::time::sleep(pause).await;
            if self.term.age() > GIVEN_UP_AFTER {
                return None;
            }
            pause = match tokio::time::timeout(ANSWER_MAX, self.renew()).await {
                Ok(Ok(None)) => RENEWED_EVERY,
                Ok(Ok(Some(lost))) => {
                    self.term.set(Renewed { is_lost: true, ..self.term.renewed() });
                    return lost;
                }
                Ok(Err(_)) | Err(_) => AGAIN,
            };
        }
    }

    /// Renews it once; `Some` where it is not ours any more.
    async fn renew(&mut self) -> Result<Option<Option<Holder>>, LiveError> {
        let (at, of_day) = (Instant::now(), SystemTime::now());
        let now = match self.place.read().await? {
            // It was deleted.
            Err(_) => return Ok(Some(None)),
            Ok(told) if told.uid != self.uid => return Ok(Some(told.holder)),
            Ok(told)
                if told.taken != self.taken
                    || told.holder.as_ref().is_none_or(|holder| holder.identity != self.identity) =>
            {
                return Ok(Some(told.holder));
            }
            Ok(told) => {
                // A renewal whose answer was lost.
                self.version = told.version;
                told.now
            }
        };
        let change = json!([{"op": "add", "path": "/spec/renewTime", "value": micro(now)}]);
        let (code, body) = self.place.patch(&self.uid, &self.version, &change).await?;
        match code {
            200..=299 => {
                self.version = named(&body).1;
                self.term.set(Renewed { at, of_day, is_lost: false });
                Ok(None)
            }
            code => Err(self.place.refused(code, &body)),
        }
    }

    /// Gives it up: nobody needs to wait until it runs out. What cannot be given up runs out.
    pub async fn release(self) {
        drop(tokio::time::timeout(ANSWER_MAX, self.given_up()).await);
    }

    async fn given_up(mut self) -> Result<(), LiveError> {
        for _ in 0..TRIES {
            let preconditions = json!({"uid": self.uid, "resourceVersion": self.version});
            let body = json!({"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": preconditions});
            let call = Call {
                method: Method::DELETE,
                path: self.place.path(),
                body: Some((JSON, body.to_string().into_bytes())),
            };
            // After a conflict it is a renewal whose answer nobody has waited for, or somebody else's; without an answer it may be gone.
            match self.place.send(&call).await {
                Ok((409 | 500..=599, _)) | Err(LiveError::Unreachable { .. }) => {}
                Ok(_) => break,
                Err(error) => return Err(error),
            }
            match self.place.read().await {
                Ok(Ok(told)) if told.uid == self.uid && told.taken == self.taken => {
                    self.version = told.version;
                }
                Ok(_) => break,
                Err(_) => tokio::time::sleep(AGAIN).await,
            }
        }
        Ok(())
    }
}

impl Place {
    fn collection(&self) -> String {
        format!("/apis/coordination.k8s.io/v1/namespaces/{}/leases", self.namespace)
    }

    fn path(&self) -> String {
        format!("{}/{}", self.collection(), self.name)
    }

    /// What there is; where there is nothing, the server's time.
    async fn read(&self) -> Result<Result<Told, Time>, LiveError> {
        let (code, now, body) = self.ask(&Call::get(self.path())).await?;
        match code {
            200 => {}
            404 => return Ok(Err(now)),
            code => return Err(self.refused(code, &body)),
        }
        let (uid, version) = named(&body);
        let spec = &body["spec"];
        let time = |member: &str| spec[member].as_str().and_then(|text| text.parse::<Time>().ok());
        let lasts = Span::from_secs(spec["leaseDurationSeconds"].as_i64().unwrap_or_default());
        let identity = spec["holderIdentity"].as_str().filter(|identity| !identity.is_empty());
        let holder = identity.map(|identity| Holder {
            identity: identity.to_owned(),
            since: time("acquireTime").map(Time::floor_seconds),
            // What says no time holds nothing.
            until: Some(time("renewTime").map_or(now, |renewed| renewed + lasts)),
        });
        let transitions = spec["leaseTransitions"].as_i64().unwrap_or_default();
        let at = spec["acquireTime"].as_str().unwrap_or_default().to_owned();
        Ok(Ok(Told { uid, version, taken: Taken { at, transitions }, holder, now }))
    }

    async fn create(&self, spec: &Value) -> Result<(u16, Value), LiveError> {
        let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "spec": spec,
            "metadata": {"name": self.name, "namespace": self.namespace}});
        let call = Call {
            method: Method::POST,
            path: self.collection(),
            body: Some((JSON, lease.to_string().into_bytes())),
        };
        self.send(&call).await
    }

    async fn patch(&self, uid: &str, version: &str, change: &Value) -> Result<(u16, Value), LiveError> {
        let mut operations = vec![
            json!({"op": "test", "path": "/metadata/uid", "value": uid}),
            json!({"op": "test", "path": "/metadata/resourceVersion", "value": version}),
        ];
        operations.extend(change.as_array().into_iter().flatten().cloned());
        let call = Call {
            method: Method::PATCH,
            path: self.path(),
            body: Some((PATCH, Value::from(operations).to_string().into_bytes())),
        };
        self.send(&call).await
    }

    async fn send(&self, call: &Call) -> Result<(u16, Value), LiveError> {
        self.ask(call).await.map(|(code, _, body)| (code, body))
    }

    async fn ask(&self, call: &Call) -> Result<(u16, Time, Value), LiveError> {
        let turn = self.connection.turn();
        let (response, _) = self.connection.exchange(call, JSON).await?;
        let code = response.status().as_u16();
        let Some(now) = date(response.headers()) else {
            let why = "the answer does not say what time it is (Date)".to_owned();
            return Err(LiveError::Unreadable { path: call.path.clone(), why });
        };
        let body = response.into_body().collect().await;
        let body = body.map(http_body_util::Collected::to_bytes).unwrap_or_default();
        if code == 401 {
            // The next attempt has new ones.
            self.connection.renew(turn).await?;
        }
        Ok((code, now, serde_json::from_slice(&body).unwrap_or_default()))
    }

    fn refused(&self, code: u16, body: &Value) -> LiveError {
        let message = body["message"].as_str().unwrap_or("without a message").to_owned();
        let missing = Missing {
            group: "coordination.k8s.io".to_owned(),
            resource: "leases".to_owned(),
            verbs: &["create", "delete", "get", "patch"],
        };
        match code {
            401 => LiveError::Unauthorized {
                server: self.connection.server().to_owned(),
                context: self.connection.context().to_owned(),
            },
            403 => LiveError::Forbidden { message, missing },
            code => LiveError::Refused { path: self.path(), code, message },
        }
    }
}

fn spec(identity: &str, taken: &Taken, now: Time) -> Value {
    json!({"holderIdentity": identity, "leaseDurationSeconds": LASTS.as_secs(), "acquireTime": taken.at,
        "renewTime": micro(now), "leaseTransitions": taken.transitions})
}

/// Whether what went wrong may go by: nothing is known of what was asked for.
fn may_pass(error: &LiveError) -> bool {
    matches!(error, LiveError::Unreachable { .. })
}

/// A moment of this process alone: the server tells whole seconds, and the rest is drawn. By it a process knows what it has written, also where no answer came.
fn own(now: Time) -> String {
    // Each of them has keys of its own.
    let drawn = RandomState::new().hash_one(std::process::id()) % 999_999 + 1;
    micro(now).replace(".000000", &format!(".{drawn:06}"))
}

/// As a MicroTime is written.
fn micro(time: Time) -> String {
    let text = time.floor_seconds().to_string();
    format!("{}.000000Z", text.trim_end_matches('Z'))
}

fn named(body: &Value) -> (String, String) {
    let text = |member: &str| body["metadata"][member].as_str().unwrap_or_default().to_owned();
    (text("uid"), text("resourceVersion"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_term_ends_a_margin_before_another_may_take_the_lease() {
        let (at, of_day) = (Instant::now(), SystemTime::now());
        let term = Term(Arc::new(Mutex::new(Renewed { at, of_day, is_lost: false })));
        assert!(term.holds());
        let back =
            |span: Duration| Instant::now().checked_sub(span).expect("this machine has been up for so long");
        term.set(Renewed { at: back(Duration::from_secs(19)), of_day, is_lost: false });
        assert!(term.holds());
        term.set(Renewed { at: back(Duration::from_secs(20)), of_day, is_lost: false });
        assert!(!term.holds());
        // The machine slept: its clock that only runs forward did not run.
        term.set(Renewed { at, of_day: of_day - Duration::from_mins(1), is_lost: false });
        assert!(!term.holds());
        term.set(Renewed { at, of_day: of_day + Duration::from_mins(1), is_lost: true });
        assert!(!term.holds());
    }

    #[test]
    fn a_moment_is_written_as_kubernetes_reads_it() {
        let time: Time = "2026-01-01T00:00:01Z".parse().expect("a time");
        assert_eq!(micro(time), "2026-01-01T00:00:01.000000Z");
        assert_eq!(micro(time).parse::<Time>(), Ok(time));
        let (one, other) = (own(time), own(time));
        assert!(one != other && one.len() == micro(time).len(), "{one} {other}");
        assert_eq!(one.parse::<Time>().map(Time::floor_seconds), Ok(time));
    }
}
