//! Messages, handled by one process at a time.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use replank_core::interrupt::Options;
use replank_journal::Recorded;
use replank_live::aws::{Aws, AwsQueue};
use replank_live::cloud::Cloud;
use replank_live::drive::{self, Driver, Event, Observer};
use replank_live::queue::Queue;
use replank_live::{Attempt, Connection, Holder, Lease, LiveError};
use replank_model::text::Text;
use replank_model::time::Time;
use replank_model::view::View;
use replank_protocol::command::{Answer, Command};
use replank_protocol::decision::Decision;
use serde_json::json;
use tokio::runtime::Runtime;

use super::args::HandleArgs;
use super::scales::{self, Scales};
use super::screen::Screen;
use super::watch::{Figures, Watch};
use crate::autoscale::{self, Another, Scaled, Shown, Told, another, changed};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::journal::JournalFile;
use crate::live::{lost_on_the_way, pressed};
use crate::printer::Printer;
use crate::report::words::count;
use crate::roll::identity;

/// The name of the Lease.
pub(crate) const LEASE: &str = "replank-handle";
/// How often it is looked whether a Lease that somebody else holds is free.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How long a decision waits until what was written is seen: with many interruptions at once there is always something that was not.
const SIGHT_MAX: Duration = Duration::from_secs(1);
/// Commands that may be under way at a time.
const IN_FLIGHT: usize = 32;

/// What it is done on.
pub(super) struct Ground<'c> {
    pub(super) connection: &'c Connection,
    pub(super) aws: Arc<Aws>,
    pub(super) queue: Arc<AwsQueue>,
    pub(super) options: Options,
    /// What is scaled besides, if anything is.
    pub(super) scales: Option<Scales>,
}

/// How it was left.
enum Left {
    Idle,
    Interrupted,
    /// Somebody else handles messages, or scales.
    Lost(Whose, Option<Holder>),
    /// A Cluster Autoscaler scales, too.
    Another(Another),
    /// Other groups are to be scaled.
    Changed,
}

/// Whose Lease it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whose {
    Messages,
    Scaling,
}

/// What is held while messages are handled, and what is told of it.
struct Held {
    /// None in a dry run.
    lease: Option<Box<Lease>>,
    /// Only where groups are scaled.
    scaling: Option<Box<Lease>>,
    journal: Option<JournalFile>,
    screen: Rc<RefCell<Screen>>,
    figures: Rc<Cell<Figures>>,
    shown: Shown,
}

/// Handles messages until there are none for as long as is waited for, or until Ctrl-C.
///
/// # Errors
/// Where the cluster is lost for long, or another process scales it.
pub(super) fn carry_out(
    runtime: &Runtime,
    ground: &Ground<'_>,
    args: &HandleArgs,
    (printer, interrupt): (&mut Printer, &Interrupt),
) -> Result<Exit, Failure> {
    let connection = ground.connection;
    let mut scaled = ground.look(runtime, args, printer)?;
    let journal = args.journal.as_deref().map(JournalFile::create).transpose()?;
    interrupt.hold();
    interrupt.heed_termination()?;
    let mut held = Held {
        lease: None,
        scaling: None,
        journal,
        screen: Rc::new(RefCell::new(Screen::new(args.output, args.dry_run))),
        figures: Rc::default(),
        shown: Shown::default(),
    };
    if !args.dry_run {
        held.lease = runtime.block_on(taken(connection, args.namespace.as_str(), printer, interrupt))?;
        if held.lease.is_none() {
            return Ok(Exit::Interrupted);
        }
    }
    if ground.scales.is_some() {
        match runtime.block_on(scales::taken(connection, printer, interrupt)) {
            Ok(Some(lease)) => held.scaling = Some(lease),
            ended => {
                held.give_up(runtime);
                return ended.map(|_| Exit::Interrupted);
            }
        }
        // Groups and other autoscalers may be others by now.
        scaled = held.or_give_up(runtime, || ground.look(runtime, args, printer))?;
    }
    loop {
        let left = held.handle(runtime, ground, args, scaled.take(), interrupt);
        match left {
            Ok(Left::Changed) => {
                printer.story("the groups that are to be scaled are others: everything is read anew");
                scaled = held.or_give_up(runtime, || ground.look(runtime, args, printer))?;
            }
            left => return held.finish(runtime, left, ground, printer),
        }
    }
}

impl Ground<'_> {
    /// The groups that are scaled, as they are now.
    fn look(
        &self,
        runtime: &Runtime,
        args: &HandleArgs,
        printer: &mut Printer,
    ) -> Result<Option<Scaled>, Failure> {
        let place = (runtime, self.connection, &*self.aws);
        self.scales.as_ref().map(|scales| scales.look(place, &args.live, printer)).transpose()
    }
}

impl Held {
    /// Handles messages, and scales what is to be scaled.
    ///
    /// # Errors
    /// Where the cluster is lost for long.
    fn handle(
        &mut self,
        runtime: &Runtime,
        ground: &Ground<'_>,
        args: &HandleArgs,
        scaled: Option<Scaled>,
        interrupt: &Interrupt,
    ) -> Result<Left, LiveError> {
        let connection = ground.connection;
        let followed =
            scaled.as_ref().map(|scaled| (scaled.autoscaler.options.clone(), scaled.found.clone()));
        let scaling =
            scaled.map(|scaled| (scaled.autoscaler, Told::new(self.screen.clone(), self.shown.clone())));
        let watch = Watch::new(
            ground.options.clone(),
            (args.dry_run, args.idle),
            self.screen.clone(),
            self.figures.clone(),
            scaling,
        );
        let mut sink = self.journal.as_ref().map(JournalFile::sink);
        let sink = Box::new(move |entry: &replank_journal::Entry| {
            if let Some(sink) = &mut sink {
                sink(entry);
            }
        });
        let on = format!("context {}", connection.context());
        let mut engine = Recorded::new(Box::new(watch), ["handle", &on, &args.queue_url], sink);
        let mut look = Look { screen: self.screen.clone() };
        let mut driving = drive::Options::new(ground.options.run.clone());
        driving.requests_per_second = args.requests_per_second;
        driving.in_flight = IN_FLIGHT;
        driving.sight_max = SIGHT_MAX;
        driving.terms = self.lease.iter().chain(&self.scaling).map(|lease| lease.term()).collect();
        driving.records = Some(args.namespace.to_string());
        driving.cloud = Some(ground.aws.clone() as Arc<dyn Cloud>);
        driving.queue = Some(ground.queue.clone() as Arc<dyn Queue>);
        let driver = Driver::new(connection, driving);
        let Self { lease, scaling, .. } = self;
        runtime.block_on(async {
            tokio::select! {
                biased;
                holder = kept(lease) => Ok(Left::Lost(Whose::Messages, holder)),
                holder = kept(scaling) => Ok(Left::Lost(Whose::Scaling, holder)),
                () = pressed(interrupt) => Ok(Left::Interrupted),
                left = others(connection, &ground.aws, followed.as_ref()) => Ok(left),
                ended = driver.run(&mut engine, &mut look) => ended.map(|_| Left::Idle),
            }
        })
    }

    /// Gives the Leases up.
    fn give_up(&mut self, runtime: &Runtime) {
        for lease in self.lease.take().into_iter().chain(self.scaling.take()) {
            runtime.block_on(lease.release());
        }
    }

    /// What comes of something; the Leases are given up where that is an error.
    fn or_give_up<T>(
        &mut self,
        runtime: &Runtime,
        what: impl FnOnce() -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let found = what();
        if found.is_err() {
            self.give_up(runtime);
        }
        found
    }

    /// Ends.
    ///
    /// # Errors
    /// Where the cluster was lost for long.
    fn finish(
        mut self,
        runtime: &Runtime,
        left: Result<Left, LiveError>,
        ground: &Ground<'_>,
        printer: &mut Printer,
    ) -> Result<Exit, Failure> {
        self.give_up(runtime);
        if let Some(Err(failure)) = self.journal.as_ref().map(JournalFile::finish) {
            // What was done is done: that there is no whole evidence of it is said.
            printer.failure(&failure);
        }
        let left = left.map_err(lost_on_the_way)?;
        let scaled = ground.scales.as_ref().map(|_| &self.shown);
        Ok(end(&left, ground.connection.now(), (self.figures.get(), scaled), (&self.screen, printer)))
    }
}

/// Returns when a Lease is lost; never, where there is none.
async fn kept(lease: &mut Option<Box<Lease>>) -> Option<Holder> {
    match lease {
        Some(lease) => lease.keep().await,
        None => std::future::pending().await,
    }
}

/// Returns when a Cluster Autoscaler scales, too, or when other groups are to be scaled; never, where none are.
async fn others(
    connection: &Connection,
    aws: &Aws,
    followed: Option<&(replank_core::scale::Options, BTreeSet<Text>)>,
) -> Left {
    let Some((options, found)) = followed else { return std::future::pending().await };
    tokio::select! {
        another = another(connection) => Left::Another(another),
        () = changed(aws, options, found) => Left::Changed,
    }
}

/// Waits for the Lease: another process may be about to end. `None` after Ctrl-C.
async fn taken(
    connection: &Connection,
    namespace: &str,
    printer: &mut Printer,
    interrupt: &Interrupt,
) -> Result<Option<Box<Lease>>, Failure> {
    let mut is_told = false;
    loop {
        match Lease::take(connection, (namespace, LEASE), &identity()).await? {
            Attempt::Taken(lease) => return Ok(Some(lease)),
            Attempt::HeldBy(holder) if !is_told => {
                is_told = true;
                printer.story(&format!(
                    "messages are handled by {holder}; this process goes on when that one ends"
                ));
            }
            Attempt::HeldBy(_) => {}
        }
        tokio::select! {
            () = pressed(interrupt) => return Ok(None),
            () = tokio::time::sleep(LOOK_EVERY) => {}
        }
    }
}

fn end(
    left: &Left,
    now: Time,
    (figures, scaled): (Figures, Option<&Shown>),
    (screen, printer): (&RefCell<Screen>, &mut Printer),
) -> Exit {
    let Figures { messages, again, deleted, unread, nodes, drained, late } = figures;
    let mut told = format!(
        "{} received, {deleted} deleted; {} interrupted, {drained} drained",
        count(messages, "message"),
        count(nodes, "node")
    );
    if late > 0 {
        told += &format!(", {late} lost with pods on them");
    }
    if unread > 0 {
        told += &format!("; {unread} left to the dead-letter queue");
    }
    if let Some(scaled) = scaled {
        told += &format!("; {}", scaled.done());
    }
    let stays = "what is under way stays as it is, and the next process goes on with it";
    let (word, exit, line) = match left {
        Left::Idle | Left::Changed => match scaled.and_then(Shown::pending) {
            Some(pending) => {
                ("pending", Exit::Findings, format!("nothing more can be done ({told}): {pending}"))
            }
            None => ("idle", Exit::Passes, format!("nothing is left to do: {told}")),
        },
        Left::Interrupted => ("interrupted", Exit::Interrupted, format!("interrupted ({told}): {stays}")),
        Left::Another(another) => (
            "left",
            Exit::Refused,
            format!("this process handles messages no more: {another} ({told}); {stays}"),
        ),
        Left::Lost(whose, holder) => {
            let does = match whose {
                Whose::Messages => "handles messages",
                Whose::Scaling => "scales the cluster",
            };
            let by = holder.as_ref().map(|holder| format!("{holder} {does}"));
            let by = by.unwrap_or_else(|| "the Lease could not be renewed".to_owned());
            ("left", Exit::Internal, format!("this process handles messages no more: {by} ({told})"))
        }
    };
    if screen.borrow().is_text() {
        match exit {
            Exit::Passes => drop(printer.told(&format!("{line}\n"))),
            Exit::Internal
            | Exit::Usage
            | Exit::Findings
            | Exit::Blocked
            | Exit::Refused
            | Exit::Incomplete
            | Exit::Interrupted => printer.warning(&line),
        }
    } else {
        let mut event = json!({"event": "end", "time": now.floor_seconds().to_string(), "result": word, "message": line,
            "messages": messages, "again": again, "deleted": deleted, "unreadable": unread, "nodes": nodes, "drained": drained, "lost": late});
        if let Some(scaled) = scaled {
            let autoscale::Figures { added, removed, evicted } = scaled.figures.get();
            event["scaled"] = json!({"added": added, "removed": removed, "evicted": evicted});
        }
        // Whoever reads events hears of a broken pipe by itself.
        drop(printer.data(&format!("{event}\n")));
    }
    exit
}

/// Hears what happens on the way to the cluster.
struct Look {
    screen: Rc<RefCell<Screen>>,
}

impl Observer for Look {
    fn decided(&mut self, _now: Time, _view: &View, _decision: &Decision) {}

    fn answered(&mut self, _command: &Command, _answer: &Answer, _at: Time) {}

    fn story(&mut self, at: Time, event: &Event) {
        if !event.is_routine() {
            self.screen.borrow_mut().warn(at, "connection", &event.to_string());
        }
    }
}
