//! From the command line to the end of a drain.

use std::cell::RefCell;
use std::rc::Rc;

use replank_core::drain::{DryRun, NodeStatus, Options, Phase, Request, Sparing, Verb};
use replank_live::drive::{self, Driver, Event, Observer};
use replank_live::{Connection, Rule};
use replank_model::text::RunId;
use replank_model::time::Time;
use replank_model::view::View;
use replank_protocol::command::{Answer, Command, NodeTarget};
use replank_protocol::decision::{Decision, End};
use replank_protocol::intent::Intent;
use serde_json::json;

use super::args::{DrainArgs, NodesArgs};
use super::rehearse;
use super::rules::RbacVerb;
use super::screen::Screen;
use super::select;
use super::watch::Watch;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::journal::JournalFile;
use crate::live::{carry_out, lost_on_the_way, permitted, pressed, runtime};
use crate::moment;
use crate::printer::Printer;

/// What is to be done, and to which nodes.
pub(super) struct Asked<'a> {
    pub(super) verb: Verb,
    pub(super) nodes: &'a NodesArgs,
    pub(super) drain: Option<&'a DrainArgs>,
}

/// Does it.
///
/// # Errors
/// Where it is not begun: the arguments are wrong, the cluster cannot be reached, a rule is missing. Or where the cluster is lost for long.
pub(super) fn run(asked: &Asked<'_>, printer: &mut Printer, interrupt: &Interrupt) -> Result<Exit, Failure> {
    let word = word(asked.verb);
    select::check(asked.nodes, word)?;
    let options = asked.drain.map_or_else(
        || Options { dry_run: asked.nodes.dry_run.dry_run(), ..Options::default() },
        DrainArgs::options,
    );
    let runtime = runtime()?;
    let (connection, chosen) = runtime.block_on(async {
        let connection = Connection::open(&asked.nodes.live.asked()).await?;
        permitted(&connection, None, &rules(asked.verb, &options)).await?;
        let chosen = select::choose(asked.nodes, &connection, connection.now()).await?;
        Ok::<_, Failure>((connection, chosen))
    })?;
    if chosen.nodes.is_empty() {
        printer.story("no node matches: nothing to do");
        return Ok(Exit::Passes);
    }
    let targets =
        chosen.nodes.iter().map(|node| NodeTarget { name: node.name(), uid: node.meta.uid.clone() });
    let run = RunId::from(format!("{word}-{}-{}", moment::now().as_millis() / 1000, std::process::id()));
    let request = Request { run: run.clone(), verb: asked.verb, nodes: targets.collect(), options };
    let screen = Rc::new(RefCell::new(Screen::new(asked.nodes.output, request.options.dry_run)));
    if asked.drain.is_some_and(|drain| drain.rehearse) {
        let times = rehearse::run(asked.nodes, &request, printer)?;
        screen.borrow_mut().rehearsed(times);
    }
    let journal =
        asked.drain.and_then(|drain| drain.journal.as_deref()).map(JournalFile::create).transpose()?;
    let names: Vec<String> = request.nodes.iter().map(|node| node.name.to_string()).collect();
    let named = format!("nodes {}", names.join(", "));
    interrupt.hold();
    let mut watch = Watch::new(request.clone(), screen.clone());
    let mut look = Look { screen: screen.clone(), interrupt, is_told: false };
    let ended = runtime.block_on(async {
        let mut driving = drive::Options::new(run);
        driving.dry_run = match request.options.dry_run {
            DryRun::None | DryRun::Client => drive::DryRun::None,
            DryRun::Server => drive::DryRun::Server,
        };
        let driver = Driver::new(&connection, driving);
        let waker = driver.waker();
        let waking = async {
            pressed(interrupt).await;
            waker.wake();
            std::future::pending::<End>().await
        };
        let on = format!("context {}", connection.context());
        let kept = (journal.as_ref(), [word, &on, &named]);
        let running = carry_out(driver, &mut watch, &mut look, kept);
        tokio::select! {
            ended = running => ended,
            end = waking => Ok(end),
        }
    });
    screen.borrow_mut().finish();
    if let Some(Err(failure)) = journal.as_ref().map(JournalFile::finish) {
        // What was done is done: that there is no whole evidence of it is said.
        printer.failure(&failure);
    }
    let statuses = watch.statuses().to_vec();
    match ended {
        Ok(end) => Ok(finish(&request, &end, (&statuses, connection.now()), (printer, &screen))),
        Err(error) => {
            if let Some(words) = cordoned(&statuses) {
                printer.warning(&words);
            }
            Err(lost_on_the_way(error))
        }
    }
}

fn word(verb: Verb) -> &'static str {
    match verb {
        Verb::Cordon => "cordon",
        Verb::Uncordon => "uncordon",
        Verb::Drain => "drain",
    }
}

/// The rules that are needed.
fn rules(verb: Verb, options: &Options) -> Vec<Rule> {
    let verb = match (verb, options.disable_eviction, options.sparing) {
        (Verb::Cordon, ..) => RbacVerb::Cordon,
        (Verb::Uncordon, ..) => RbacVerb::Uncordon,
        (Verb::Drain, true, _) => RbacVerb::DrainDisableEviction,
        (Verb::Drain, false, Sparing::Surge) => RbacVerb::DrainSurge,
        (Verb::Drain, false, Sparing::Evict) => RbacVerb::Drain,
    };
    match options.dry_run {
        DryRun::None | DryRun::Server => verb.rules(),
        DryRun::Client => verb.reads(),
    }
}

/// What it came to, in the end.
fn finish(
    request: &Request,
    end: &End,
    (statuses, now): (&[NodeStatus], Time),
    (printer, screen): (&mut Printer, &Rc<RefCell<Screen>>),
) -> Exit {
    let exit = match end {
        End::Done => Exit::Passes,
        End::Cancelled(_) => Exit::Interrupted,
        End::Blocked(_) | End::RolledBack(_) | End::Refused(_) => Exit::Blocked,
    };
    let names = |is_it: &dyn Fn(&NodeStatus) -> bool| -> Vec<String> {
        statuses.iter().filter(|status| is_it(status)).map(|status| status.node.name.to_string()).collect()
    };
    let left = names(&|status| status.phase != Phase::Drained);
    if !screen.borrow().is_text() {
        let result = match exit {
            Exit::Passes => "done",
            Exit::Interrupted => "interrupted",
            Exit::Blocked
            | Exit::Internal
            | Exit::Usage
            | Exit::Findings
            | Exit::Refused
            | Exit::Incomplete => "blocked",
        };
        let event = json!({"event": "end", "time": now.floor_seconds().to_string(), "result": result,
            "drained": names(&|status| status.phase == Phase::Drained), "cordoned": names(&|status| status.is_cordoned)});
        // Whoever reads events hears of a broken pipe by itself.
        drop(printer.data(&format!("{event}\n")));
        return exit;
    }
    if exit == Exit::Interrupted {
        let words = cordoned(statuses).unwrap_or_else(|| "no node stays cordoned".to_owned());
        printer.warning(&format!("interrupted: {words}"));
    } else if exit == Exit::Blocked && request.verb == Verb::Drain && !left.is_empty() {
        // kubectl's words.
        let list: Vec<String> = left.iter().map(|node| format!(" {node}")).collect();
        printer.story(&format!("There are pending nodes to be drained:\n{}", list.join("\n")));
    }
    exit
}

/// Which nodes stay cordoned.
fn cordoned(statuses: &[NodeStatus]) -> Option<String> {
    let of = |is_drained: bool| -> Vec<&str> {
        let nodes =
            statuses.iter().filter(|one| one.is_cordoned && (one.phase == Phase::Drained) == is_drained);
        nodes.map(|status| status.node.name.as_str()).collect()
    };
    let (drained, left) = (of(true), of(false));
    let all = [drained.clone(), left.clone()].concat();
    if all.is_empty() {
        return None;
    }
    let mut words = Vec::new();
    if !left.is_empty() {
        words.push(format!("{} not drained", left.join(", ")));
    }
    if !drained.is_empty() {
        words.push(format!("{} drained", drained.join(", ")));
    }
    Some(format!(
        "these nodes stay cordoned: {}; to let pods on them again: kubectl uncordon {}",
        words.join("; "),
        all.join(" ")
    ))
}

/// Hears what happens on the way to the cluster, and passes Ctrl-C on.
struct Look<'i> {
    screen: Rc<RefCell<Screen>>,
    interrupt: &'i Interrupt,
    is_told: bool,
}

impl Observer for Look<'_> {
    fn decided(&mut self, _now: Time, _view: &View, _decision: &Decision) {}

    fn answered(&mut self, _command: &Command, _answer: &Answer, _at: Time) {}

    fn story(&mut self, _at: Time, event: &Event) {
        if !event.is_routine() {
            self.screen.borrow_mut().note(&event.to_string());
        }
    }

    fn intent(&mut self) -> Option<Intent> {
        let is_new = self.interrupt.is_pressed() && !self.is_told;
        self.is_told |= is_new;
        is_new.then_some(Intent::Cancelled)
    }
}
