//! The thread that owns the world: it alone changes it, and lets time pass in it.

use std::any::Any;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use replank_apiserver::json::{Request, Response};
use replank_apiserver::{ApiError, ResourceType};
use replank_model::object::Object;
use replank_model::time::Time;
use replank_model::view::Change;
use serde_json::Value;
use tokio::sync::oneshot;

use crate::lookers::{Looker, Lookers};
use crate::manage::Manage;
use crate::mirror::{Mirror, Publisher};
use crate::pace::Pace;

/// A cluster that is served. It is made, used and dropped by one thread.
pub trait Cluster {
    /// Answers a request that changes something, or that cannot be answered from objects alone.
    fn handle(&mut self, request: &Request) -> Response;

    /// Lets everything happen that is due until a moment.
    fn run_until(&mut self, moment: Time);

    /// Somebody looks at what is kept up only for those who look: leases.
    fn look(&mut self);

    /// When something happens next.
    fn next_due(&self) -> Option<Time>;

    /// Whether it begins with this process: nothing was before.
    fn is_new(&self) -> bool;

    /// The version of the last write.
    fn version(&self) -> u64;

    /// Resources that definitions declare.
    fn custom_resources(&self) -> Vec<ResourceType>;

    /// Every object that is there.
    fn objects(&self) -> Vec<Object>;

    /// What has changed since this was last asked.
    fn take_changes(&mut self) -> Vec<Change>;

    /// Makes changes last that [`Cluster::take_changes`] has given, before anybody is told of them.
    ///
    /// # Errors
    /// Where it cannot be written: nothing that was asked since is answered, and the cluster ends.
    fn keep(&mut self, changes: &[Change]) -> io::Result<()>;

    /// Answers what only somebody who looks after the simulation asks.
    ///
    /// # Errors
    /// Why it cannot be done, in words.
    fn manage(&mut self, ask: &Manage) -> Result<Value, String>;

    /// Answers what is asked by another API beside that of Kubernetes, in that one's own terms; `None` where no such API is served.
    fn beside(&mut self, ask: Box<dyn Any + Send>) -> Option<Box<dyn Any + Send>>;
}

/// What the owner is asked.
enum Ask {
    Request(Box<Request>, oneshot::Sender<Response>),
    Manage(Manage, oneshot::Sender<Result<Value, String>>),
    Look(oneshot::Sender<()>),
    Beside(Box<dyn Any + Send>, oneshot::Sender<Box<dyn Any + Send>>),
    Stop,
}

/// What has been answered, and is told when it lasts.
enum Reply {
    Request(Response, oneshot::Sender<Response>),
    Manage(Result<Value, String>, oneshot::Sender<Result<Value, String>>),
    Looked(oneshot::Sender<()>),
    Beside(Box<dyn Any + Send>, oneshot::Sender<Box<dyn Any + Send>>),
}

impl Reply {
    fn send(self) {
        // Who does not wait for the answer any more has nothing to be told.
        let _is_awaited = match self {
            Self::Request(response, reply) => reply.send(response).is_ok(),
            Self::Manage(answer, reply) => reply.send(answer).is_ok(),
            Self::Looked(reply) => reply.send(()).is_ok(),
            Self::Beside(answer, reply) => reply.send(answer).is_ok(),
        };
    }
}

/// How the owner is reached.
#[derive(Clone, Debug)]
pub struct Owner {
    asks: Sender<Ask>,
    mirror: Arc<Mirror>,
    clock: Clock,
    lookers: Lookers,
}

/// The clock of a world, for those who only look at it.
#[derive(Clone, Debug)]
pub struct Clock(Arc<Mutex<Pace>>);

impl Clock {
    fn new(pace: &Pace) -> Self {
        Self(Arc::new(Mutex::new(pace.clone())))
    }

    /// The present moment in the world.
    ///
    /// # Panics
    /// Never: nobody panics while holding it.
    #[must_use]
    pub fn now(&self) -> Time {
        self.0.lock().expect("nobody panics while holding it").now()
    }

    fn advance(&self, millis: i64) {
        self.0.lock().expect("nobody panics while holding it").advance(millis);
    }
}

impl Owner {
    /// Begins a thread that makes a cluster and owns it. Returns when the cluster is there.
    ///
    /// # Errors
    /// What making it says.
    ///
    /// # Panics
    /// Where the thread cannot be begun.
    pub fn spawn<E: Send + 'static>(
        make: impl FnOnce() -> Result<Box<dyn Cluster>, E> + Send + 'static,
        pace: Pace,
    ) -> Result<(Self, JoinHandle<io::Result<()>>), E> {
        let (asks, asked) = channel();
        let (tell, told) = channel();
        let clock = Clock::new(&pace);
        let shown = clock.clone();
        let lookers = Lookers::default();
        let looked_at = lookers.clone();
        let thread = std::thread::Builder::new().name("world".to_owned()).spawn(move || {
            let cluster = match make() {
                Ok(cluster) => cluster,
                Err(error) => {
                    drop(tell.send(Err(error)));
                    return Ok(());
                }
            };
            let show = if cluster.is_new() { Publisher::begun } else { Publisher::new };
            let publisher = show(cluster.objects(), cluster.custom_resources(), cluster.version());
            drop(tell.send(Ok(publisher.mirror())));
            let looked = Instant::now();
            Own { cluster, publisher, pace, shown, replies: Vec::new(), lookers: looked_at, looked }
                .run(&asked)
        });
        let thread = thread.expect("a thread can be begun");
        let mirror = told.recv().expect("the thread tells how it went")?;
        Ok((Self { asks, mirror, clock, lookers }, thread))
    }

    /// The clock of the world.
    #[must_use]
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// What readers see.
    #[must_use]
    pub fn mirror(&self) -> &Arc<Mirror> {
        &self.mirror
    }

    /// Has a request answered; `None` when the cluster has been stopped.
    pub async fn request(&self, request: Request) -> Option<Response> {
        let (reply, answer) = oneshot::channel();
        self.asks.send(Ask::Request(Box::new(request), reply)).ok()?;
        answer.await.ok()
    }

    /// Has somebody who looks after the simulation answered; `None` when the cluster has been stopped.
    pub async fn manage(&self, ask: Manage) -> Option<Result<Value, String>> {
        let (reply, answer) = oneshot::channel();
        self.asks.send(Ask::Manage(ask, reply)).ok()?;
        answer.await.ok()
    }

    /// Has what another API asks answered; `None` when the cluster has been stopped, or serves no such API.
    pub async fn beside(&self, ask: Box<dyn Any + Send>) -> Option<Box<dyn Any + Send>> {
        let (reply, answer) = oneshot::channel();
        self.asks.send(Ask::Beside(ask, reply)).ok()?;
        answer.await.ok()
    }

    /// Somebody looks at leases: those that are due have been renewed when this returns.
    pub(crate) async fn look(&self) {
        let (reply, answer) = oneshot::channel();
        if self.asks.send(Ask::Look(reply)).is_ok() {
            // A cluster that has been stopped renews nothing.
            drop(answer.await);
        }
    }

    /// Somebody looks at leases, until what this returns is dropped.
    pub(crate) fn keep_looking(&self) -> Looker {
        self.lookers.enter()
    }

    /// Ends the thread.
    pub fn stop(&self) {
        drop(self.asks.send(Ask::Stop));
    }
}

struct Own {
    cluster: Box<dyn Cluster>,
    publisher: Publisher,
    pace: Pace,
    replies: Vec<Reply>,
    /// The clock that others look at.
    shown: Clock,
    /// Who watches leases, and when they were last renewed for them.
    lookers: Lookers,
    looked: Instant,
}

/// How long the owner sleeps at the most: time passes in the world by itself, and those who look at a clock want to see it.
const NAP_MAX: Duration = Duration::from_secs(1);
/// How often leases that somebody watches are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// What is asked while the owner is busy is answered together: written once, published once. So many at the most, and for so long, lest the first wait for
/// the last.
const TOGETHER_MAX: usize = 256;
const TOGETHER_FOR: Duration = Duration::from_millis(10);

impl Own {
    fn run(mut self, asked: &Receiver<Ask>) -> io::Result<()> {
        loop {
            self.cluster.run_until(self.pace.now());
            if self.lookers.are_there() && self.looked.elapsed() >= LOOK_EVERY {
                self.looked = Instant::now();
                self.cluster.look();
            }
            self.publish()?;
            let due = self.cluster.next_due();
            let nap = due.map_or(NAP_MAX, |due| self.pace.until(due)).min(NAP_MAX);
            let mut next = match asked.recv_timeout(nap) {
                Ok(ask) => Some(ask),
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
                Err(RecvTimeoutError::Timeout) => None,
            };
            let began = Instant::now();
            while let Some(ask) = next {
                if let Ask::Stop = ask {
                    return self.publish();
                }
                self.cluster.run_until(self.pace.now());
                self.answer(ask);
                let is_full = self.replies.len() >= TOGETHER_MAX || began.elapsed() >= TOGETHER_FOR;
                next = if is_full { None } else { asked.try_recv().ok() };
            }
            self.publish()?;
        }
    }

    fn answer(&mut self, ask: Ask) {
        match ask {
            Ask::Request(request, reply) => {
                let answer = self.handle(&request);
                self.replies.push(Reply::Request(answer, reply));
            }
            Ask::Manage(ask, reply) => {
                let answer = self.manage(&ask);
                self.replies.push(Reply::Manage(answer, reply));
            }
            Ask::Look(reply) => {
                self.cluster.look();
                self.replies.push(Reply::Looked(reply));
            }
            Ask::Beside(ask, reply) => {
                // As with requests, one that ends in a panic does not end the cluster: who asked gets no answer.
                let answered = catch_unwind(AssertUnwindSafe(|| self.cluster.beside(ask)));
                if let Ok(Some(answer)) = answered {
                    self.replies.push(Reply::Beside(answer, reply));
                }
            }
            Ask::Stop => {}
        }
    }

    /// Answers a request. One that ends in a panic is answered as upstream does (apiserver `pkg/server/filters/wrap.go`), and the
    /// cluster goes on: a write stores whole objects, one at a time.
    fn handle(&mut self, request: &Request) -> Response {
        let answered = catch_unwind(AssertUnwindSafe(|| self.cluster.handle(request)));
        answered.unwrap_or_else(|_| {
            let why = format!(
                "This request caused apiserver to panic. Look in the logs for details: {:?} {}",
                request.method, request.path
            );
            let refusal = ApiError::internal(&why);
            Response { code: refusal.code, body: refusal.to_status(), warnings: Vec::new() }
        })
    }

    fn manage(&mut self, ask: &Manage) -> Result<Value, String> {
        if let Manage::Advance { millis } = ask {
            if !self.pace.advance(*millis) {
                return Err(
                    "time passes by itself here: only a cluster begun with --clock step can be advanced"
                        .to_owned(),
                );
            }
            self.shown.advance(*millis);
            self.cluster.run_until(self.pace.now());
        }
        let mut answer = self.cluster.manage(ask)?;
        answer["now"] = self.pace.now().to_string().into();
        answer["clock"] = self.pace.word().into();
        Ok(answer)
    }

    /// Makes what has happened last, shows it, and tells those who have asked for it.
    fn publish(&mut self) -> io::Result<()> {
        let changes = self.cluster.take_changes();
        self.cluster.keep(&changes)?;
        let mut has_definitions = false;
        for change in changes {
            if let Change::Object { old, new, .. } = &change {
                let one = new.as_ref().or(old.as_ref());
                has_definitions |= matches!(one, Some(Object::CustomResourceDefinition(_)));
                self.publisher.changed(old.as_ref(), new.as_ref());
            }
        }
        if has_definitions {
            self.publisher.set_custom(self.cluster.custom_resources());
        }
        self.publisher.publish(self.cluster.version());
        self.replies.drain(..).for_each(Reply::send);
        Ok(())
    }
}
