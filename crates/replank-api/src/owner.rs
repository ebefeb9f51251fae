//! The thread that owns the world: it alone changes it, and lets time pass in it.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use replank_apiserver::ResourceType;
use replank_apiserver::json::{Request, Response};
use replank_model::object::Object;
use replank_model::time::Time;
use replank_model::view::Change;
use tokio::sync::oneshot;

use crate::mirror::{Mirror, Publisher};
use crate::pace::Pace;

/// A cluster that is served. It is made, used and dropped by one thread.
pub trait Cluster {
    /// Answers a request that changes something, or that cannot be answered from objects alone.
    fn handle(&mut self, request: &Request) -> Response;

    /// Lets everything happen that is due until a moment.
    fn run_until(&mut self, moment: Time);

    /// When something happens next.
    fn next_due(&self) -> Option<Time>;

    /// The version of the last write.
    fn version(&self) -> u64;

    /// Resources that definitions declare.
    fn custom_resources(&self) -> Vec<ResourceType>;

    /// Every object that is there.
    fn objects(&self) -> Vec<Object>;

    /// What has changed since this was last asked.
    fn take_changes(&mut self) -> Vec<Change>;
}

/// What the owner is asked.
enum Ask {
    Request(Box<Request>, oneshot::Sender<Response>),
    /// Lets so much time pass at once, in a world whose time does not pass by itself.
    Advance(i64, oneshot::Sender<Time>),
    Stop,
}

/// How the owner is reached.
#[derive(Clone, Debug)]
pub struct Owner {
    asks: Sender<Ask>,
    mirror: Arc<Mirror>,
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
    ) -> Result<(Self, JoinHandle<()>), E> {
        let (asks, asked) = channel();
        let (tell, told) = channel();
        let thread = std::thread::Builder::new().name("world".to_owned()).spawn(move || {
            let cluster = match make() {
                Ok(cluster) => cluster,
                Err(error) => {
                    drop(tell.send(Err(error)));
                    return;
                }
            };
            let publisher = Publisher::new(cluster.objects(), cluster.custom_resources(), cluster.version());
            drop(tell.send(Ok(publisher.mirror())));
            Own { cluster, publisher, pace }.run(&asked);
        });
        let thread = thread.expect("a thread can be begun");
        let mirror = told.recv().expect("the thread tells how it went")?;
        Ok((Self { asks, mirror }, thread))
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

    /// Lets time pass at once; `None` when the cluster has been stopped.
    pub async fn advance(&self, millis: i64) -> Option<Time> {
        let (reply, answer) = oneshot::channel();
        self.asks.send(Ask::Advance(millis, reply)).ok()?;
        answer.await.ok()
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
}

/// How long the owner sleeps at the most: time passes in the world by itself, and those who look at a clock want to see it.
const NAP_MAX: Duration = Duration::from_secs(1);

impl Own {
    fn run(mut self, asked: &Receiver<Ask>) {
        loop {
            self.let_time_pass();
            let due = self.cluster.next_due();
            let nap = due.map_or(NAP_MAX, |due| self.pace.until(due)).min(NAP_MAX);
            match asked.recv_timeout(nap) {
                Ok(Ask::Request(request, reply)) => {
                    self.let_time_pass();
                    let answer = self.cluster.handle(&request);
                    self.publish();
                    // Who does not wait for the answer any more has nothing to be told.
                    let _is_awaited = reply.send(answer).is_ok();
                }
                Ok(Ask::Advance(millis, reply)) => {
                    self.pace.advance(millis);
                    self.let_time_pass();
                    let _is_awaited = reply.send(self.pace.now()).is_ok();
                }
                Ok(Ask::Stop) | Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    fn let_time_pass(&mut self) {
        self.cluster.run_until(self.pace.now());
        self.publish();
    }

    fn publish(&mut self) {
        let mut has_definitions = false;
        for change in self.cluster.take_changes() {
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
    }
}
