//! Messages, handled by one process at a time.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use replank_core::interrupt::Options;
use replank_journal::Recorded;
use replank_live::aws::{Aws, AwsQueue};
use replank_live::cloud::Cloud;
use replank_live::drive::{self, Driver, Event, Observer};
use replank_live::queue::Queue;
use replank_live::{Attempt, Connection, Holder, Lease};
use replank_model::time::Time;
use replank_model::view::View;
use replank_protocol::command::{Answer, Command};
use replank_protocol::decision::Decision;
use serde_json::json;

use super::args::HandleArgs;
use super::screen::Screen;
use super::watch::{Figures, Watch};
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
}

/// How it was left.
enum Left {
    Idle,
    Interrupted,
    Lost(Option<Holder>),
}

/// Handles messages until there are none for as long as is waited for, or until Ctrl-C.
///
/// # Errors
/// Where the cluster is lost for long.
pub(super) fn carry_out(
    runtime: &tokio::runtime::Runtime,
    ground: &Ground<'_>,
    args: &HandleArgs,
    (printer, interrupt): (&mut Printer, &Interrupt),
) -> Result<Exit, Failure> {
    let connection = ground.connection;
    let journal = args.journal.as_deref().map(JournalFile::create).transpose()?;
    interrupt.hold();
    interrupt.heed_termination()?;
    let mut lease = None;
    if !args.dry_run {
        lease = runtime.block_on(taken(connection, args.namespace.as_str(), printer, interrupt))?;
        if lease.is_none() {
            return Ok(Exit::Interrupted);
        }
    }
    let screen = Rc::new(RefCell::new(Screen::new(args.output, args.dry_run)));
    let figures = Rc::new(Cell::new(Figures::default()));
    let watch =
        Watch::new(ground.options.clone(), (args.dry_run, args.idle), screen.clone(), figures.clone());
    let mut sink = journal.as_ref().map(JournalFile::sink);
    let sink = Box::new(move |entry: &replank_journal::Entry| {
        if let Some(sink) = &mut sink {
            sink(entry);
        }
    });
    let on = format!("context {}", connection.context());
    let mut engine = Recorded::new(Box::new(watch), ["handle", &on, &args.queue_url], sink);
    let mut look = Look { screen: screen.clone() };
    let mut driving = drive::Options::new(ground.options.run.clone());
    driving.requests_per_second = args.requests_per_second;
    driving.in_flight = IN_FLIGHT;
    driving.sight_max = SIGHT_MAX;
    driving.terms = lease.iter().map(|lease| lease.term()).collect();
    driving.records = Some(args.namespace.to_string());
    let (aws, queue) = (ground.aws.clone(), ground.queue.clone());
    driving.cloud = Some(aws as Arc<dyn Cloud>);
    driving.queue = Some(queue as Arc<dyn Queue>);
    let driver = Driver::new(connection, driving);
    let left = runtime.block_on(async {
        let held = async {
            match &mut lease {
                Some(lease) => lease.keep().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            holder = held => Ok(Left::Lost(holder)),
            () = pressed(interrupt) => Ok(Left::Interrupted),
            ended = driver.run(&mut engine, &mut look) => ended.map(|_| Left::Idle),
        }
    });
    drop(engine);
    if let Some(lease) = lease {
        runtime.block_on(lease.release());
    }
    if let Some(Err(failure)) = journal.as_ref().map(JournalFile::finish) {
        // What was done is done: that there is no whole evidence of it is said.
        printer.failure(&failure);
    }
    let left = left.map_err(lost_on_the_way)?;
    Ok(finish(&left, connection.now(), (&screen, figures.get(), printer)))
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

fn finish(
    left: &Left,
    now: Time,
    (screen, figures, printer): (&RefCell<Screen>, Figures, &mut Printer),
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
    let (word, exit, line) = match left {
        Left::Idle => ("idle", Exit::Passes, format!("nothing is left to do: {told}")),
        Left::Interrupted => (
            "interrupted",
            Exit::Interrupted,
            format!(
                "interrupted ({told}): what is under way stays as it is, and the next process goes on with it"
            ),
        ),
        Left::Lost(holder) => {
            let by = holder.as_ref().map(|holder| format!("{holder} handles messages"));
            let by = by.unwrap_or_else(|| "the Lease could not be renewed".to_owned());
            ("left", Exit::Internal, format!("this process handles messages no more: {by} ({told})"))
        }
    };
    if screen.borrow().is_text() {
        match exit {
            Exit::Passes => drop(printer.data(&format!("{line}\n"))),
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
            "messages": messages, "again": again, "deleted": deleted, "unreadable": unread, "nodes": nodes, "drained": drained, "lost": late});
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
