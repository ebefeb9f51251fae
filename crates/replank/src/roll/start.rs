//! `replank roll -f PLAN`: looked at, rehearsed, confirmed, carried out.

use std::collections::BTreeSet;
use std::sync::Arc;

use replank_core::nodes_to_replace;
use replank_facts::plan::{Plan, RunOptions, Singletons};
use replank_facts::run_record::told;
use replank_live::{Connection, Lease};
use replank_model::object::karpenter::NodeClaim;
use replank_model::text::NodeName;
use replank_model::time::Time;
use replank_model::view::View;
use replank_protocol::intent::Intent;
use replank_protocol::limits::run_named;
use replank_protocol::record::FoundRecord;

use super::args::{ProviderArg, StartArgs};
use super::besides;
use super::hold::{Task, carry_out, held_by, place};
use super::landing::{Came, IfMissing, Missing};
use super::records;
use super::rehearsed::rehearse;
use crate::confirm::confirm;
use crate::drain::RbacVerb;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::live::{permitted, runtime};
use crate::made_like::{Made, deletion};
use crate::output::EventsFormat;
use crate::printer::Printer;
use crate::rehearse::options;
use crate::rehearse::plan::from_file_provided;

/// Nodes that are named one by one.
const NODES_SHOWN: usize = 5;

/// Begins a run, or goes on with it.
///
/// # Errors
/// Where it is not begun, or the cluster is lost for long.
pub(super) fn run(args: &StartArgs, printer: &mut Printer, interrupt: &Interrupt) -> Result<Exit, Failure> {
    let Some(file) = &args.plan else {
        return Err(Failure::usage_message("no plan is given").next("pass -f PLAN"));
    };
    let plan = from_file_provided(file, args.provider == Some(ProviderArg::External))?;
    if args.provider == Some(ProviderArg::Karpenter) && plan.external().is_some() {
        return Err(Failure::usage_message("--provider karpenter: the plan says provider: external")
            .next("leave --provider out, or remove spec.provider from the plan"));
    }
    begin(args, plan, printer, interrupt)
}

/// The same, with a plan that somebody has made already.
///
/// # Errors
/// As there.
pub(super) fn begin(
    args: &StartArgs,
    plan: Plan,
    printer: &mut Printer,
    interrupt: &Interrupt,
) -> Result<Exit, Failure> {
    if args.make_group && plan.target.group.is_none() {
        return Err(Failure::usage_message("--make-group: the plan has no target.group")
            .next("name the group that nodes are to move into: spec.target.group"));
    }
    begin_as(args, (plan, Turn::First), printer, interrupt)
}

/// Whether something had to be made first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    /// Nothing has been changed yet.
    First,
    /// The group that nodes move into has been made, with consent to that and to the run: all is looked at again, for that took its time.
    GroupIsThere,
}

/// Begins, once everything is there that the plan names.
fn begin_as(
    args: &StartArgs,
    (plan, turn): (Plan, Turn),
    printer: &mut Printer,
    interrupt: &Interrupt,
) -> Result<Exit, Failure> {
    let run = run_named(&plan.name);
    let runtime = runtime()?;
    let (namespace, name) = place(&plan, &run);
    let (connection, found, elsewhere, now, holder) = runtime.block_on(async {
        let connection = Connection::open(&args.live.asked()).await?;
        let verb =
            if plan.care.singletons == Singletons::Surge { RbacVerb::RollSurge } else { RbacVerb::Roll };
        let rules = if args.dry_run { verb.reads() } else { verb.rules() };
        permitted(&connection, None, &rules).await?;
        if !args.dry_run {
            permitted(&connection, Some(&namespace), verb.of_namespace()).await?;
        }
        let (found, now) = records::all(&connection, &namespace).await?;
        let elsewhere = records::elsewhere(&connection, &namespace).await?;
        let holder = Lease::holder(&connection, (&namespace, &name)).await?;
        Ok::<_, Failure>((connection, found, elsewhere, now, holder))
    })?;
    if let Some(holder) = holder.filter(|_| !args.dry_run) {
        return Err(held_by(&run, &holder));
    }
    let known = found.iter().find(|one| one.run.as_ref() == Some(&run));
    let begun = known.map(records::begun).transpose()?;
    if let Some(begun) = &begun
        && begun.told.plan.to_json() != plan.to_json()
    {
        return Err(Failure::usage_message(format!("run {run} was begun with another plan"))
            .next(format!("to go on with that one: replank roll resume {run}; to end it: replank roll cancel {run}; or give this plan another name")));
    }
    if let (Some(begun), Some(found)) = (&begun, known)
        && begun.told.intent != Intent::Run
        && !args.dry_run
    {
        return Err(is_not_to_run(begun.told.intent, (run.as_str(), &namespace, &name), records::why(found)));
    }
    let since = begun.as_ref().map(|begun| (run.clone(), begun.told.options.started));
    if let Some((_, since)) = &since {
        printer.story(&format!("run {run} was begun at {since}: it is gone on with"));
    }
    let rehearsed = rehearse(
        (&args.live, &args.read, &args.aws, &args.besides),
        (
            plan,
            match turn {
                Turn::First if args.make_group => IfMissing::Assumes,
                Turn::First | Turn::GroupIsThere => IfMissing::Ends,
            },
        ),
        since.clone(),
        printer,
        interrupt,
    )?;
    let scene = &rehearsed.scene;
    let is_new = begun.is_none();
    let task_options = RunOptions { started: since.map_or(now, |(_, since)| since), ..options(scene) };
    let chosen = nodes_to_replace(&scene.seen(), &scene.plan, &task_options);
    if rehearsed.cloud.is_none() {
        replaceable(&scene.view, &scene.plan, &chosen)?;
    }
    if elsewhere.is_none() {
        printer.warning(&format!(
            "runs that are recorded in other namespaces than {namespace} cannot be seen: to have them told apart, allow listing ConfigMaps in all namespaces"
        ));
    }
    apart((&scene.view, &chosen), (&found, &elsewhere.unwrap_or_default(), run.as_str()))?;
    if is_new || args.dry_run {
        let is_open = matches!(rehearsed.exit, Exit::Passes | Exit::Findings);
        // It was told before it was confirmed.
        if turn == Turn::First || !is_open {
            print(&rehearsed.report, args, printer)?;
        }
        match rehearsed.exit {
            Exit::Passes | Exit::Findings => {}
            exit @ (Exit::Internal
            | Exit::Usage
            | Exit::Blocked
            | Exit::Refused
            | Exit::Incomplete
            | Exit::Interrupted) => {
                let changed = match turn {
                    Turn::First => "nothing was changed",
                    Turn::GroupIsThere => "no node was changed",
                };
                printer.warning(&format!("{changed}: a run is begun only if its rehearsal can be completed"));
                return Ok(exit);
            }
        }
        if args.dry_run {
            if let Some(missing) = &rehearsed.missing {
                let name = missing.made.name();
                printer.story(&format!("nothing was changed: node group {name} was assumed, and not made"));
            }
            return Ok(rehearsed.exit);
        }
        if chosen.is_empty() {
            printer.story("no node is to be replaced: nothing to do");
            return Ok(Exit::Passes);
        }
    }
    let nodes = crate::report::words::count(chosen.len(), "node");
    let making = rehearsed.missing.as_ref().map(|Missing { made, .. }| {
        format!(", after node group {} is made like {}", made.name(), made.first())
    });
    let asked = format!(
        "roll {} on context {}, {nodes}{}",
        scene.plan.name,
        connection.context(),
        making.unwrap_or_default()
    );
    confirm(args.yes || turn == Turn::GroupIsThere, &asked)?;
    if let (Some(missing), Some(aws)) = (&rehearsed.missing, &rehearsed.cloud) {
        return match runtime.block_on(missing.make(aws, printer, interrupt))? {
            Came::There => begin_there(args, scene.plan.clone(), &missing.made, (printer, interrupt)),
            Came::Interrupted => Ok(Exit::Interrupted),
        };
    }
    let plan = Arc::new(scene.plan.clone());
    let options = match is_new {
        true => {
            fresh(task_options, (&runtime, &connection), (&namespace, run.as_str()), (&scene.view, &chosen))?
        }
        false => task_options,
    };
    let cloud = rehearsed.cloud.clone();
    let queue = besides::queue((&runtime, &connection), cloud.as_ref(), args.besides.queue_url.as_deref())?;
    let scaler = besides::scales((&runtime, &connection), scene)?;
    // Whoever has had it made says so at the end.
    let stays = rehearsed.stays.clone().filter(|_| turn == Turn::First);
    let (wanted, is_begun) = (Intent::Run, !is_new);
    let task = Task { run, plan, options, wanted, is_begun, cloud, queue, scaler, stays };
    carry_out(
        (&runtime, &connection),
        &task,
        (&args.tell, rehearsed.compared_with(printer)),
        printer,
        interrupt,
    )
}

/// Begins now that the group is there, as with one that was there before; and says what becomes of it.
fn begin_there(
    args: &StartArgs,
    plan: Plan,
    made: &Made,
    (printer, interrupt): (&mut Printer, &Interrupt),
) -> Result<Exit, Failure> {
    let came = begin_as(args, (plan, Turn::GroupIsThere), printer, interrupt);
    let (name, first) = (made.name(), made.first());
    match &came {
        Ok(Exit::Passes) => printer.story(&format!("node group {name} was made for this run, like {first}")),
        Ok(
            Exit::Internal
            | Exit::Usage
            | Exit::Findings
            | Exit::Blocked
            | Exit::Refused
            | Exit::Incomplete
            | Exit::Interrupted,
        )
        | Err(_) => printer.warning(&format!(
            "node group {name}, which was made for this run, stays; if nothing needs it, delete it: {}",
            deletion(made.cluster(), name)
        )),
    }
    came
}

/// A run that somebody has paused or ended is not gone on with by the way.
fn is_not_to_run(intent: Intent, (run, namespace, name): (&str, &str, &str), why: Option<&str>) -> Failure {
    let why = why.map(|why| format!(" ({why})")).unwrap_or_default();
    let (word, next) = match intent {
        Intent::Run | Intent::Paused => ("paused", format!("to go on: replank roll resume {run}")),
        Intent::Cancelled | Intent::Undo => (
            "ended",
            format!(
                "to begin anew: give the plan another name, or forget this run: kubectl -n {namespace} delete configmap {name}"
            ),
        ),
    };
    Failure { exit: Exit::Refused, ..Failure::usage_message(format!("run {run} is {word}{why}")) }.next(next)
}

/// A run begins when it is confirmed: nodes that came up since the rehearsal are old, too, and another run may have begun.
fn fresh(
    options: RunOptions,
    (runtime, connection): (&tokio::runtime::Runtime, &Connection),
    (namespace, run): (&str, &str),
    wanted: (&View, &BTreeSet<NodeName>),
) -> Result<RunOptions, Failure> {
    let (found, now): (Vec<FoundRecord>, Time) = runtime.block_on(records::all(connection, namespace))?;
    let elsewhere = runtime.block_on(records::elsewhere(connection, namespace))?;
    apart(wanted, (&found, &elsewhere.unwrap_or_default(), run))?;
    Ok(RunOptions { started: now, ..options })
}

/// The report: where events are told, it is story.
fn print(report: &str, args: &StartArgs, printer: &mut Printer) -> Result<(), Failure> {
    match args.tell.output {
        EventsFormat::Text => printer.data(report),
        EventsFormat::Json => {
            if args.yes {
                printer.story(report);
            } else {
                printer.asked(report);
            }
            Ok(())
        }
    }
}

/// Whether somebody replaces the nodes where Replank does not: Karpenter, or whom the plan means by external.
fn replaceable(view: &View, plan: &Plan, chosen: &BTreeSet<NodeName>) -> Result<(), Failure> {
    if plan.external().is_some() {
        return Ok(());
    }
    let of = |claim: &Arc<NodeClaim>| claim.status.node_name.clone();
    let claimed: BTreeSet<NodeName> =
        view.node_claims.unordered().filter_map(|(_, claim)| of(claim)).collect();
    let others: Vec<&str> = chosen.difference(&claimed).map(NodeName::as_str).collect();
    if others.is_empty() {
        return Ok(());
    }
    Err(Failure::usage_message(format!("nodes that neither Karpenter nor AWS runs cannot be replaced by Replank itself: {}", some(&others))).next(
        "where somebody else replaces drained nodes (Cluster API, kops, a person): --provider external, or spec.provider: external in the plan",
    ))
}

/// Whether another run wants the same nodes.
fn apart(
    (view, chosen): (&View, &BTreeSet<NodeName>),
    (found, elsewhere, run): (&[FoundRecord], &[FoundRecord], &str),
) -> Result<(), Failure> {
    let others = found.iter().filter(|one| one.run.as_ref().is_none_or(|name| name.as_str() != run));
    // A run of the same name in another namespace is another one.
    for other in others.chain(elsewhere) {
        let Some(told) = other.record.as_ref().ok().and_then(|record| told(record).ok()) else { continue };
        // One that was called off begins nothing any more.
        if !matches!(told.intent, Intent::Run | Intent::Paused) {
            continue;
        }
        let theirs = nodes_to_replace(view, &told.plan, &told.options);
        let both: Vec<&str> = chosen.intersection(&theirs).map(NodeName::as_str).collect();
        if !both.is_empty() {
            let namespace = &other.holder.meta.namespace;
            let (place, flag) = match found.iter().any(|one| Arc::ptr_eq(&one.holder, &other.holder)) {
                true => (String::new(), String::new()),
                false => (format!(" of namespace {namespace}"), format!(" -n {namespace}")),
            };
            return Err(Failure {
                exit: Exit::Refused,
                ..Failure::usage_message(format!(
                    "run {}{place} is to replace the same nodes: {}",
                    told.run,
                    some(&both)
                ))
            }
            .next(format!(
                "wait until it is over (replank roll watch {0}{flag}), or end it: replank roll cancel {0}{flag}",
                told.run
            )));
        }
    }
    Ok(())
}

fn some(names: &[&str]) -> String {
    let more = names.len().saturating_sub(NODES_SHOWN);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", names.iter().take(NODES_SHOWN).copied().collect::<Vec<_>>().join(", "))
}
