//! `replank roll pause`, `resume`, `cancel` and `undo`: what is wanted of a run, written on its record; and carried out, where nobody else does.

use std::sync::Arc;
use std::time::Duration;

use replank_facts::groups::GroupBy;
use replank_facts::plan::Singletons;
use replank_live::{Connection, Holder, Lease};
use replank_model::object::node::LABEL_EKS_NODEGROUP;
use replank_model::text::Text;
use replank_protocol::intent::Intent;
use serde_json::json;

use super::args::{CarryArgs, RunArgs};
use super::besides;
use super::hold::{Task, carry_out};
use super::landing::IfMissing;
use super::records::{self, identity};
use super::rehearsed::{rehearse, scene};
use crate::drain::RbacVerb;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::live::{permitted, runtime};
use crate::output::EventsFormat;
use crate::printer::Printer;
use crate::snapshot::ReadArgs;

/// How often it is looked whether a Lease has been renewed.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Has a run start no further node and move no pod.
///
/// # Errors
/// Where there is no such run, or it cannot be written.
pub(super) fn pause(args: &RunArgs, printer: &mut Printer) -> Result<Exit, Failure> {
    let asked = (args.run.as_deref(), args.namespace.as_str());
    let runtime = runtime()?;
    let connection = runtime.block_on(Connection::open(&args.live.asked()))?;
    let recorded = RbacVerb::Roll.of_namespace();
    runtime.block_on(permitted(&connection, Some(args.namespace.as_str()), recorded))?;
    let (begun, holder) = runtime.block_on(write(&connection, asked, Intent::Paused))?;
    let by = holder.as_ref().map_or_else(
        || "no process works on it".to_owned(),
        |holder| format!("{holder} starts no further node and moves no pod until then"),
    );
    let line = format!("run {} is paused: {by}", begun.run);
    told(args.output, &connection, (begun.run.as_str(), Intent::Paused, holder.as_ref()), &line, printer)?;
    printer.story(&format!("to go on: replank roll resume {}", begun.run));
    Ok(Exit::Passes)
}

/// Has a run go on, end, or be taken back.
///
/// # Errors
/// Where there is no such run, it cannot be written, or the cluster is lost for long.
pub(super) fn carry(
    args: &CarryArgs,
    intent: Intent,
    printer: &mut Printer,
    interrupt: &Interrupt,
) -> Result<Exit, Failure> {
    let asked = (args.run.as_deref(), args.namespace.as_str());
    let runtime = runtime()?;
    let connection = runtime.block_on(Connection::open(&args.live.asked()))?;
    runtime.block_on(is_permitted(&connection, asked))?;
    let (begun, holder) = runtime.block_on(write(&connection, asked, intent))?;
    let run = begun.run.clone();
    let holder = match holder {
        Some(holder) => runtime.block_on(works(&connection, &begun.place(), holder, printer))?,
        None => None,
    };
    if let Some(holder) = holder {
        let word = match intent {
            Intent::Run => "goes on",
            Intent::Paused => "is paused",
            Intent::Cancelled => "is to end",
            Intent::Undo => "is to be taken back",
        };
        let line = format!("run {run} {word}: it is carried out by {holder}");
        told(args.tell.output, &connection, (run.as_str(), intent, Some(&holder)), &line, printer)?;
        printer.story(&format!("to follow it: replank roll watch {run}"));
        return Ok(Exit::Passes);
    }
    if intent != Intent::Run
        && runtime.block_on(records::is_over(&connection, args.namespace.as_str(), &run))?
    {
        let line = format!("run {run} is over");
        told(args.tell.output, &connection, (run.as_str(), intent, None), &line, printer)?;
        return Ok(Exit::Passes);
    }
    printer.story(&format!("no process works on run {run}: this one does"));
    let read = ReadArgs {
        group_label: group_label(&begun.told.options.group_by),
        allow_incomplete: Vec::new(),
        strict: false,
    };
    let from = (&args.live, &read, &args.aws, &args.besides);
    // A run that was begun has found its groups.
    let plan = (begun.told.plan.clone(), IfMissing::Ends);
    let (cloud, rehearsed, scaler, stays) = match intent {
        Intent::Run => {
            let since = Some((run.clone(), begun.told.options.started));
            let rehearsed = rehearse(from, plan, since, printer, interrupt)?;
            let scaler = besides::scales((&runtime, &connection), &rehearsed.scene)?;
            let stays = rehearsed.stays.clone();
            (rehearsed.cloud.clone(), rehearsed.compared_with(printer), scaler, stays)
        }
        Intent::Paused | Intent::Cancelled | Intent::Undo if plan.0.external().is_some() => {
            (None, None, None, None)
        }
        Intent::Paused | Intent::Cancelled | Intent::Undo => {
            let (scene, cloud) = scene(from, plan, printer)?;
            let scaler = besides::scales((&runtime, &connection), &scene)?;
            let stays = cloud.as_ref().and_then(|cloud| cloud.stays.clone());
            (cloud.map(|cloud| cloud.aws), None, scaler, stays)
        }
    };
    let queue = besides::queue((&runtime, &connection), cloud.as_ref(), args.besides.queue_url.as_deref())?;
    let told = begun.told;
    let (plan, options) = (Arc::new(told.plan), told.options);
    let task = Task { run, plan, options, wanted: intent, is_begun: true, cloud, queue, scaler, stays };
    carry_out((&runtime, &connection), &task, (&args.tell, rehearsed), printer, interrupt)
}

/// Tells what was asked of a run, where this process carries nothing out.
fn told(
    format: EventsFormat,
    connection: &Connection,
    (run, intent, holder): (&str, Intent, Option<&Holder>),
    line: &str,
    printer: &mut Printer,
) -> Result<(), Failure> {
    match format {
        EventsFormat::Text => printer.told(&format!("{line}\n")),
        EventsFormat::Json => {
            let event = json!({"event": "asked", "time": connection.now().floor_seconds().to_string(), "run": run,
                "intent": intent, "heldBy": holder.map(ToString::to_string), "message": line});
            printer.data(&format!("{event}\n"))
        }
    }
}

/// Whether everything is allowed that is to be done, before anything is written: where another process works on the run, that is its record alone.
async fn is_permitted(
    connection: &Connection,
    (run, namespace): (Option<&str>, &str),
) -> Result<(), Failure> {
    let begun = records::one(connection, namespace, run).await?;
    let verb = match begun.told.plan.care.singletons {
        Singletons::Surge => RbacVerb::RollSurge,
        Singletons::Evict | Singletons::Skip => RbacVerb::Roll,
    };
    permitted(connection, Some(namespace), verb.of_namespace()).await?;
    let (place, name) = begun.place();
    match Lease::holder(connection, (&place, &name)).await? {
        Some(_) => Ok(()),
        None => permitted(connection, None, &verb.rules()).await,
    }
}

/// Writes it down; the run, and who carries it out.
async fn write(
    connection: &Connection,
    (run, namespace): (Option<&str>, &str),
    intent: Intent,
) -> Result<(records::Begun, Option<Holder>), Failure> {
    let begun = records::one(connection, namespace, run).await?;
    let why = format!("asked by {}", identity());
    records::intend(connection, (namespace, &begun.run), (intent, &why)).await?;
    let (namespace, name) = begun.place();
    let holder = Lease::holder(connection, (&namespace, &name)).await?;
    Ok((begun, holder))
}

/// Who works on a run: the holder of its Lease, once that is seen to be renewed. A process that was killed holds it until it runs out.
pub(crate) async fn works(
    connection: &Connection,
    (namespace, name): &(String, String),
    first: Holder,
    printer: &mut Printer,
) -> Result<Option<Holder>, Failure> {
    let mut is_told = false;
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        let Some(now) = Lease::holder(connection, (namespace, name)).await? else { return Ok(None) };
        if now.identity != first.identity || now.until != first.until {
            return Ok(Some(now));
        }
        if !std::mem::replace(&mut is_told, true) {
            printer.story(&format!("waiting, half a minute at most, for a sign of life from {first}"));
        }
    }
}

/// The label by which the run's nodes are in groups.
fn group_label(by: &GroupBy) -> Text {
    match by {
        GroupBy::Label(label) => label.clone(),
        GroupBy::Selector(..) => Text::from(LABEL_EKS_NODEGROUP),
    }
}
