//! A cluster is scaled by one process at a time.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use replank_core::Core;
use replank_core::scale::{Options, RUN};
use replank_journal::Recorded;
use replank_live::aws::Aws;
use replank_live::cloud::Cloud;
use replank_live::drive::{self, Driver, Event, Observer};
use replank_live::{Attempt, Connection, Holder, Lease, LiveError};
use replank_model::text::{NodeName, RunId, Text};
use replank_model::time::Time;
use replank_model::view::View;
use replank_protocol::command::{Answer, Command};
use replank_protocol::decision::Decision;
use replank_protocol::record::NAMESPACE;
use serde_json::json;
use tokio::runtime::Runtime;

use super::args::AutoscaleArgs;
use super::others::{Another, another};
use super::scene::{Scaled, named};
use super::told::{Figures, Shown};
use super::watch::Watch;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::handle::Screen;
use crate::interrupt::Interrupt;
use crate::journal::JournalFile;
use crate::live::{lost_on_the_way, pressed};
use crate::printer::Printer;
use crate::roll::identity;

/// The name of the Lease. It is in one namespace whoever asks: a cluster is scaled by one process.
pub(crate) const LEASE: &str = "replank-autoscale";
/// How often it is looked whether a Lease that somebody else holds is free.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How often it is looked whether other groups have the tags: as often as Cluster Autoscaler does.
const GROUPS_EVERY: Duration = Duration::from_secs(60);
/// How long a decision waits until what was written is seen.
const SIGHT_MAX: Duration = Duration::from_secs(1);
/// Commands that may be under way at a time.
const IN_FLIGHT: usize = 32;

/// What it is done on.
pub(super) struct Ground<'c> {
    pub(super) connection: &'c Connection,
    pub(super) aws: Arc<Aws>,
    pub(super) args: &'c AutoscaleArgs,
}

/// How it was left.
pub(super) enum Left {
    Idle,
    Interrupted,
    Lost(Option<Holder>),
    /// A Cluster Autoscaler scales, too.
    Another(Another),
    /// Other groups are to be scaled.
    Changed,
}

/// Whether somebody else held the Lease first: what was read before is old then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waited {
    No,
    Yes,
}

/// The Lease, and what is told while it is held.
pub(super) struct Held {
    lease: Box<Lease>,
    journal: Option<JournalFile>,
    screen: Rc<RefCell<Screen>>,
    shown: Shown,
}

impl Held {
    /// Waits for the Lease: another process may be about to end; with it, whether that took time. `None` after Ctrl-C.
    ///
    /// # Errors
    /// Where the journal cannot be written, or the server does not answer.
    pub(super) fn begin(
        runtime: &Runtime,
        ground: &Ground<'_>,
        printer: &mut Printer,
        interrupt: &Interrupt,
    ) -> Result<Option<(Self, Waited)>, Failure> {
        let Ground { connection, args, .. } = ground;
        let journal = args.journal.as_deref().map(JournalFile::create).transpose()?;
        interrupt.hold();
        interrupt.heed_termination()?;
        let lease = runtime.block_on(taken(connection, printer, interrupt))?;
        let screen = Rc::new(RefCell::new(Screen::new(args.output, false)));
        Ok(lease.map(|(lease, waited)| (Self { lease, journal, screen, shown: Shown::default() }, waited)))
    }

    /// Scales until there is nothing to do for as long as is waited for, until Ctrl-C, or until other groups are to be scaled.
    ///
    /// # Errors
    /// Where the cluster is lost for long.
    pub(super) fn carry_out(
        &mut self,
        runtime: &Runtime,
        ground: &Ground<'_>,
        scaled: Scaled,
        interrupt: &Interrupt,
    ) -> Result<Left, LiveError> {
        let Ground { connection, aws, args } = ground;
        let (options, found) = (scaled.autoscaler.options.clone(), scaled.found.clone());
        let core = Core::without_run().with_autoscaler(scaled.autoscaler);
        let watch = Watch::new(core, args.idle, self.screen.clone(), self.shown.clone());
        let mut sink = self.journal.as_ref().map(JournalFile::sink);
        let sink = Box::new(move |entry: &replank_journal::Entry| {
            if let Some(sink) = &mut sink {
                sink(entry);
            }
        });
        let on = format!("context {}", connection.context());
        let of = format!("{} in {}", aws.account(), aws.region());
        let mut engine = Recorded::new(Box::new(watch), ["autoscale", &on, &of], sink);
        let mut look = Look { screen: self.screen.clone() };
        aws.follow_sizes(scaled.bases);
        let mut driving = drive::Options::new(RunId::from(RUN));
        driving.requests_per_second = args.requests_per_second;
        driving.in_flight = IN_FLIGHT;
        driving.sight_max = SIGHT_MAX;
        driving.terms = vec![self.lease.term()];
        driving.records = Some(NAMESPACE.to_owned());
        driving.cloud = Some(aws.clone() as Arc<dyn Cloud>);
        let driver = Driver::new(connection, driving);
        let lease = &mut self.lease;
        runtime.block_on(async {
            tokio::select! {
                biased;
                holder = lease.keep() => Ok(Left::Lost(holder)),
                () = pressed(interrupt) => Ok(Left::Interrupted),
                another = another(connection) => Ok(Left::Another(another)),
                () = changed(aws, &options, &found) => Ok(Left::Changed),
                ended = driver.run(&mut engine, &mut look) => ended.map(|_| Left::Idle),
            }
        })
    }

    /// Gives the Lease up.
    pub(super) fn give_up(self, runtime: &Runtime) {
        runtime.block_on(self.lease.release());
    }

    /// Ends.
    ///
    /// # Errors
    /// Where the cluster was lost for long.
    pub(super) fn finish(
        self,
        runtime: &Runtime,
        left: Result<Left, LiveError>,
        connection: &Connection,
        printer: &mut Printer,
    ) -> Result<Exit, Failure> {
        let Self { lease, journal, screen, shown } = self;
        runtime.block_on(lease.release());
        if let Some(Err(failure)) = journal.as_ref().map(JournalFile::finish) {
            // What was done is done: that there is no whole evidence of it is said.
            printer.failure(&failure);
        }
        let left = left.map_err(lost_on_the_way)?;
        Ok(end(&left, connection.now(), &shown, (&screen, printer)))
    }
}

async fn taken(
    connection: &Connection,
    printer: &mut Printer,
    interrupt: &Interrupt,
) -> Result<Option<(Box<Lease>, Waited)>, Failure> {
    let mut waited = Waited::No;
    loop {
        match Lease::take(connection, (NAMESPACE, LEASE), &identity()).await? {
            Attempt::Taken(lease) => return Ok(Some((lease, waited))),
            Attempt::HeldBy(holder) if waited == Waited::No => {
                waited = Waited::Yes;
                printer.story(&format!(
                    "the cluster is scaled by {holder}; this process goes on when that one ends"
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

/// Returns when other groups are to be scaled: somebody has tagged one, or made or deleted one.
pub(crate) async fn changed(aws: &Aws, options: &Options, found: &BTreeSet<Text>) {
    loop {
        tokio::time::sleep(GROUPS_EVERY).await;
        // What cannot be asked for now is asked for again.
        if let Ok(now) = named(aws, options).await
            && now != *found
        {
            return;
        }
    }
}

fn end(left: &Left, now: Time, shown: &Shown, (screen, printer): (&RefCell<Screen>, &mut Printer)) -> Exit {
    let Figures { added, removed, evicted } = shown.figures.get();
    let (open, unplaced) = (shown.open.borrow(), shown.unplaced.borrow());
    let (told, stays) = (shown.done(), shown.stays());
    let names: Vec<&str> = open.iter().map(NodeName::as_str).collect();
    let (word, exit, line) = match left {
        Left::Idle | Left::Changed => match shown.pending() {
            Some(pending) => {
                ("pending", Exit::Findings, format!("nothing more can be done ({told}): {pending}"))
            }
            None => ("idle", Exit::Passes, format!("nothing is left to do: {told}")),
        },
        Left::Interrupted => ("interrupted", Exit::Interrupted, format!("interrupted ({told}): {stays}")),
        Left::Another(another) => (
            "left",
            Exit::Refused,
            format!("this process scales the cluster no more: {another} ({told}); {stays}"),
        ),
        Left::Lost(holder) => {
            let by = holder.as_ref().map(|holder| format!("{holder} does"));
            let by = by.unwrap_or_else(|| "the Lease could not be renewed".to_owned());
            (
                "left",
                Exit::Internal,
                format!("this process scales the cluster no more: {by} ({told}); {stays}"),
            )
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
        let event = json!({"event": "end", "time": now.floor_seconds().to_string(), "result": word, "message": line,
            "added": added, "removed": removed, "evicted": evicted, "open": names,
            "pending": unplaced.iter().map(|(pod, _)| pod.to_string()).collect::<Vec<_>>()});
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
