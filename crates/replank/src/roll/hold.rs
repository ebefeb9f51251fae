//! A run, carried out by one process at a time.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use replank_advice::preflight;
use replank_core::Core;
use replank_core::scale::Autoscaler;
use replank_facts::plan::{Plan, RunOptions};
use replank_journal::{Entry, Recorded};
use replank_live::aws::{Aws, AwsQueue};
use replank_live::cloud::Cloud;
use replank_live::drive::{self, Driver, Event, Observer};
use replank_live::{Attempt, Connection, Holder, Lease, Term};
use replank_model::text::RunId;
use replank_model::time::Time;
use replank_model::view::View;
use replank_protocol::command::{Answer, Command};
use replank_protocol::decision::{Decision, End};
use replank_protocol::intent::Intent;
use replank_protocol::record;
use serde_json::json;

use super::args::TellArgs;
use super::besides;
use super::course::Compared;
use super::engine::{Shared, Watch};
use super::larger::Larger;
use super::records::{all, identity, intend};
use super::rehearsed::Rehearsed;
use super::screen::Screen;
use crate::autoscale::Another;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::journal::JournalFile;
use crate::live::{lost_on_the_way, pressed};
use crate::printer::Printer;

/// How often it is looked whether the run is beyond what is tolerated.
const LOOK_EVERY: std::time::Duration = std::time::Duration::from_millis(100);

/// A run that is to be carried out.
pub(super) struct Task {
    pub(super) run: RunId,
    pub(super) plan: Arc<Plan>,
    pub(super) options: RunOptions,
    /// What is wanted of it, by whoever began this process.
    pub(super) wanted: Intent,
    /// Whether it had a record when this process looked.
    pub(super) is_begun: bool,
    /// The cloud behind the nodes, where Replank replaces them itself.
    pub(super) cloud: Option<Arc<Aws>>,
    /// The queue of messages that are handled besides.
    pub(super) queue: Option<Arc<AwsQueue>>,
    /// How groups are scaled besides, where they are.
    pub(super) scaler: Option<Autoscaler>,
    /// What is said of the group that nodes move into where the run does not come to its end.
    pub(super) stays: Option<String>,
}

/// How it was left.
enum Left {
    End(End),
    Interrupted,
    Beyond(String),
    Lost(Option<Holder>),
    /// A Cluster Autoscaler scales groups that this process scales besides.
    Another(Another),
}

/// Namespace and name of a run's record, and of its Lease.
pub(super) fn place(plan: &Plan, run: &RunId) -> (String, String) {
    let key = record::key(&plan.namespace, run);
    (key.namespace.to_string(), key.name.to_string())
}

/// Who else carries a run out, where somebody does.
pub(super) fn held_by(run: &RunId, holder: &Holder) -> Failure {
    Failure { exit: Exit::Refused, ..Failure::usage_message(format!("run {run} is carried out by {holder}")) }.next(
        format!(
            "to follow it: replank roll watch {run}; to have it paused, go on, or end: replank roll pause, resume or cancel {run}; a process that is gone is forgotten half a minute later"
        ),
    )
}

/// Carries a run out until it is over, or this process is to leave it.
///
/// # Errors
/// Where it is not begun, or the cluster is lost for long.
pub(super) fn carry_out(
    (runtime, connection): (&tokio::runtime::Runtime, &Connection),
    task: &Task,
    (tell, rehearsed): (&TellArgs, Option<Rehearsed>),
    printer: &mut Printer,
    interrupt: &Interrupt,
) -> Result<Exit, Failure> {
    let journal = tell.journal.as_deref().map(JournalFile::create).transpose()?;
    let (namespace, name) = place(&task.plan, &task.run);
    let taken = runtime.block_on(Lease::take(connection, (&namespace, &name), &identity()))?;
    let mut lease = match taken {
        Attempt::Taken(lease) => lease,
        Attempt::HeldBy(holder) => return Err(held_by(&task.run, &holder)),
    };
    let leases = runtime.block_on(async {
        is_as_known(connection, &namespace, task).await?;
        besides::taken(connection, task.queue.as_ref(), task.scaler.as_ref()).await
    });
    let mut leases = match leases {
        Ok(leases) => leases,
        Err(failure) => {
            runtime.block_on(lease.release());
            return Err(failure);
        }
    };
    let times = rehearsed.as_ref().map(|rehearsed| rehearsed.course.done_after()).unwrap_or_default();
    let compared = rehearsed.map(|Rehearsed { course, view, .. }| {
        Rc::new(RefCell::new(Compared::new(course, &view, tell.tolerance)))
    });
    let shared = Shared {
        screen: Rc::new(RefCell::new(Screen::new(tell.output, times))),
        compared: compared.clone(),
        beyond: Rc::default(),
        left: Rc::new(Cell::new((0, 0))),
        marked: Rc::default(),
        larger: Rc::default(),
    };
    let Task { run, plan, options, .. } = task;
    let core = Core::new(plan.clone(), run.clone(), options.clone(), preflight::blocking).with_record();
    let core = besides::with_interruptions(core, plan, task.cloud.as_ref().filter(|_| task.queue.is_some()));
    let core = match &task.scaler {
        Some(scaler) => core.with_autoscaler(scaler.clone()),
        None => core,
    };
    let watch = Watch::new(core, plan.clone(), run.clone(), options.clone(), shared.clone());
    let mut file = journal.as_ref().map(JournalFile::sink);
    let sink = Box::new(move |entry: &Entry| {
        if let Some(file) = &mut file {
            file(entry);
        }
        if let Some(compared) = &compared {
            compared.borrow_mut().take(entry);
        }
    });
    let on = format!("context {}", connection.context());
    let mut engine = Recorded::new(Box::new(watch), ["roll", &on, &plan.name], sink);
    let mut look = Look { screen: shared.screen.clone() };
    interrupt.hold();
    let mut driving = drive::Options::new(run.clone());
    let terms = terms(&lease, &leases);
    // A Lease of what is done besides counts as much: one decision is about all of it.
    driving.terms = terms.iter().map(|(_, term)| term.clone()).collect();
    driving.records = Some(namespace.clone());
    driving.cloud = task.cloud.clone().map(|cloud| -> Arc<dyn Cloud> { cloud });
    besides::receive(&mut driving, task.queue.as_ref());
    let driver = Driver::new(connection, driving);
    let left = runtime.block_on(async {
        tokio::select! {
            biased;
            never = told(connection, &terms, &shared) => match never {},
            holder = lease.keep() => Ok(Left::Lost(holder)),
            holder = besides::kept(&mut leases) => Ok(Left::Lost(holder)),
            another = besides::scaled_by_another(connection, task.scaler.as_ref()) => Ok(Left::Another(another)),
            why = beyond(&shared) => Ok(Left::Beyond(why)),
            () = pressed(interrupt) => Ok(Left::Interrupted),
            ended = driver.run(&mut engine, &mut look) => ended.map(Left::End),
        }
    });
    drop(engine);
    shared.screen.borrow_mut().finish();
    let paused = match &left {
        Ok(Left::Beyond(why)) => {
            runtime.block_on(intend(connection, (&namespace, run), (Intent::Paused, why)))
        }
        Ok(Left::End(_) | Left::Interrupted | Left::Lost(_) | Left::Another(_)) | Err(_) => Ok(()),
    };
    runtime.block_on(lease.release());
    for other in leases {
        runtime.block_on(other.release());
    }
    if let Some(Err(failure)) = journal.as_ref().map(JournalFile::finish) {
        // What was done is done: that there is no whole evidence of it is said.
        printer.failure(&failure);
    }
    let left = left.map_err(lost_on_the_way)?;
    paused?;
    Ok(finish(task, (&left, connection.now()), (&shared, printer)))
}

/// Whether the run is as this process has found it before it held the Lease. One that is over by now, or was ended, would begin anew; one that was begun meanwhile has
/// another beginning.
async fn is_as_known(connection: &Connection, namespace: &str, task: &Task) -> Result<(), Failure> {
    let (found, _) = all(connection, namespace).await?;
    let is_begun = found.iter().any(|one| one.run.as_ref() == Some(&task.run));
    if is_begun == task.is_begun {
        return Ok(());
    }
    let run = &task.run;
    let (word, next) = match is_begun {
        true => {
            ("was begun by another process meanwhile", format!("to go on with it: replank roll resume {run}"))
        }
        false => ("is over: it has no record any more", "to begin anew: replank roll -f PLAN".to_owned()),
    };
    Err(Failure { exit: Exit::Refused, ..Failure::usage_message(format!("run {run} {word}")) }.next(next))
}

/// The terms of all Leases that are held, each with what it is called.
fn terms(lease: &Lease, besides: &[Lease]) -> Vec<(String, Term)> {
    let others = besides.iter().map(|lease| (format!("the Lease {}", lease.name()), lease.term()));
    [("the Lease of the run".to_owned(), lease.term())].into_iter().chain(others).collect()
}

/// Says when a Lease cannot be renewed in time, from when nothing is sent, and when it is held again.
async fn told(
    connection: &Connection,
    terms: &[(String, Term)],
    shared: &Shared,
) -> std::convert::Infallible {
    let mut held = vec![true; terms.len()];
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        for ((name, term), held) in terms.iter().zip(&mut held) {
            let holds = term.holds();
            if std::mem::replace(held, holds) != holds {
                let words = match holds {
                    true => format!("{name} is renewed again: the run goes on"),
                    false => format!("{name} could not be renewed in time: nothing is sent until it is"),
                };
                shared.screen.borrow_mut().warn(connection.now(), "lease", &words);
            }
        }
    }
}

/// Waits until the run is beyond what is tolerated.
async fn beyond(shared: &Shared) -> String {
    loop {
        if let Some(why) = shared.beyond.borrow_mut().take() {
            return why;
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

fn finish(task: &Task, (left, now): (&Left, Time), (shared, printer): (&Shared, &mut Printer)) -> Exit {
    let run = &task.run;
    let (open, all) = shared.left.get();
    let replaced = format!("{} of {all} nodes replaced", all - open);
    let go_on = format!("to go on: replank roll resume {run}; to end it: replank roll cancel {run}");
    let marked: Vec<String> = shared.marked.borrow().iter().map(ToString::to_string).collect();
    // What was asked for is done only if nothing of it is left.
    let asked_for = |intent| match task.wanted == intent && marked.is_empty() {
        true => Exit::Passes,
        false => Exit::Blocked,
    };
    let still = match marked.is_empty() {
        true => String::new(),
        false => format!(
            "; these nodes could not be given back and stay as they are: {0}; once what refused it is gone: replank roll undo {run}, or kubectl uncordon {0}",
            marked.join(" ")
        ),
    };
    let stays = task.stays.as_ref().map(|stays| format!("; {stays}")).unwrap_or_default();
    let (word, exit, line, waiting) = match left {
        Left::End(End::Done) => ("done", Exit::Passes, format!("run {run} is done: {replaced}"), &[][..]),
        Left::End(End::Cancelled(waiting)) => {
            let line = format!("run {run} is cancelled: {replaced}{still}{stays}");
            ("cancelled", asked_for(Intent::Cancelled), line, &waiting[..])
        }
        Left::End(End::RolledBack(waiting)) => {
            let line = format!("run {run} is taken back{still}{stays}");
            ("rolledBack", asked_for(Intent::Undo), line, &waiting[..])
        }
        Left::End(End::Blocked(waiting)) => {
            ("blocked", Exit::Blocked, format!("run {run} is blocked: {replaced}{stays}"), &waiting[..])
        }
        Left::End(End::Refused(waiting)) => {
            ("refused", Exit::Refused, format!("run {run} was not begun"), &waiting[..])
        }
        Left::Interrupted => (
            "interrupted",
            Exit::Interrupted,
            format!("interrupted: run {run} stays as it is ({replaced}), and its record with it; {go_on}"),
            &[][..],
        ),
        Left::Beyond(why) => (
            "paused",
            Exit::Blocked,
            format!(
                "run {run} is paused ({replaced}): {why}; nodes that were begun stay as they are; {go_on}"
            ),
            &[][..],
        ),
        Left::Another(another) => {
            let line = format!(
                "this process works on run {run} no more: {another}; stop it, or leave --autoscale out; {go_on}"
            );
            ("left", Exit::Internal, line, &[][..])
        }
        Left::Lost(holder) => {
            let by = holder.as_ref().map(|holder| format!("; {holder} has taken it over"));
            let by = by.unwrap_or_else(|| "; its Lease could not be renewed".to_owned());
            ("left", Exit::Internal, format!("this process works on run {run} no more{by}; {go_on}"), &[][..])
        }
    };
    let larger = shared.larger.borrow();
    if shared.screen.borrow().is_text() {
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
        waiting.iter().for_each(|one| printer.warning(&one.to_string()));
        larger.iter().for_each(|one| printer.warning(&one.to_string()));
    } else {
        let mut event = json!({"event": "end", "time": now.floor_seconds().to_string(), "result": word,
            "run": run, "nodes": all, "replaced": all - open, "message": line, "waiting": waiting});
        if !larger.is_empty() {
            event["larger"] = larger.iter().map(Larger::to_json).collect();
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
    /// What others did is said as it is noticed.
    fn decided(&mut self, now: Time, _view: &View, decision: &Decision) {
        let mut screen = self.screen.borrow_mut();
        decision.noticed.iter().for_each(|one| screen.warn(now, "noticed", &one.to_string()));
    }

    fn answered(&mut self, _command: &Command, _answer: &Answer, _at: Time) {}

    fn story(&mut self, at: Time, event: &Event) {
        if !event.is_routine() {
            self.screen.borrow_mut().warn(at, "connection", &event.to_string());
        }
    }
}
