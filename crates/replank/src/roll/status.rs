//! `replank roll status` and `watch`: the runs of a cluster, from their records.

use std::collections::BTreeSet;
use std::time::Duration;

use replank_core::nodes_to_replace;
use replank_facts::run_record::told;
use replank_live::{Connection, Lease, LiveError, nodes};
use replank_model::delta::Delta;
use replank_model::object::Object;
use replank_model::text::NodeName;
use replank_model::view::View;
use replank_protocol::mark;
use replank_protocol::record::{FoundRecord, MadeOf, RunRecord};
use replank_protocol::role::NodeRole;
use serde_json::{Value, json};

use super::args::RunArgs;
use super::records;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::live::{pressed, runtime};
use crate::output::EventsFormat;
use crate::printer::Printer;
use crate::zone::times;

/// How often a run is looked at.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// Shows runs.
///
/// # Errors
/// Where they cannot be read.
pub(super) fn status(args: &RunArgs, printer: &mut Printer) -> Result<Exit, Failure> {
    let all = runtime()?.block_on(async {
        let connection = Connection::open(&args.live.asked()).await?;
        if let Some(run) = &args.run {
            records::one(&connection, args.namespace.as_str(), Some(run)).await?;
        }
        read(&connection, args).await
    })?;
    if all.is_empty() && args.output == EventsFormat::Text {
        printer.story(&format!(
            "there is no run in namespace {}: none was begun, or all are over",
            args.namespace
        ));
    }
    for one in &all {
        printer.data(&format!("{}\n", told_as(one, args.output)))?;
    }
    Ok(Exit::Passes)
}

/// Shows a run whenever something about it changes, until it is over.
///
/// # Errors
/// Where it cannot be read.
pub(super) fn watch(args: &RunArgs, printer: &mut Printer, interrupt: &Interrupt) -> Result<Exit, Failure> {
    let runtime = runtime()?;
    let connection = runtime.block_on(Connection::open(&args.live.asked()))?;
    let run = runtime.block_on(records::one(&connection, args.namespace.as_str(), args.run.as_deref()))?.run;
    interrupt.hold();
    let mut last = None;
    loop {
        let read = runtime.block_on(async {
            tokio::select! {
                read = read(&connection, args) => read.map(Some),
                () = pressed(interrupt) => Ok(None),
            }
        });
        let Some(all) = read? else { return Ok(Exit::Interrupted) };
        let Some(one) = all.into_iter().find(|one| one["run"] == run.as_str()) else {
            printer.story(&format!("run {run} is over: it has no record any more"));
            return Ok(Exit::Passes);
        };
        let text = told_as(&one, args.output);
        if last.as_ref() != Some(&text) {
            printer.data(&format!("{text}\n"))?;
            last = Some(text);
        }
        let is_pressed = runtime.block_on(async {
            tokio::select! {
                () = tokio::time::sleep(LOOK_EVERY) => false,
                () = pressed(interrupt) => true,
            }
        });
        if is_pressed {
            return Ok(Exit::Interrupted);
        }
    }
}

fn told_as(one: &Value, format: EventsFormat) -> String {
    if format == EventsFormat::Json {
        return one.to_string();
    }
    let text = |member: &str| one[member].as_str().unwrap_or_default().to_owned();
    if let Some(why) = one["unreadable"].as_str() {
        return format!("run {}: its record cannot be read: {why}", text("run"));
    }
    let list = |member: &str| -> Vec<String> {
        let all = one[member].as_array().into_iter().flatten();
        all.filter_map(|one| one.as_str().map(str::to_owned)).collect()
    };
    let named = |word: &str, names: Vec<String>| match names.as_slice() {
        [] => String::new(),
        names => format!("; {word}: {}", names.join(", ")),
    };
    let by = one["heldBy"]
        .as_str()
        .map_or_else(|| "no process works on it".to_owned(), |holder| format!("carried out by {holder}"));
    let why = one["why"].as_str().map(|why| format!(" ({why})")).unwrap_or_default();
    let before: Vec<String> = one["before"].as_array().into_iter().flatten().map(before_words).collect();
    let line = format!(
        "run {}: {}{why}; {by}; begun {}; {} left{}{}{}",
        text("run"),
        text("intent"),
        text("begun"),
        crate::report::words::count(list("left").len(), "node"),
        named("draining", list("draining")),
        named("waiting to be replaced", list("drained")),
        named("before the run", before),
    );
    times(&line).into_owned()
}

/// `group web release 1.35.4-20260901 (ami-0abc)`
fn before_words(one: &Value) -> String {
    let made_of: MadeOf = serde_json::from_value(one.clone()).unwrap_or_default();
    format!("group {} {made_of}", one["group"].as_str().unwrap_or_default())
}

/// What the nodes of each group were made of before the run, where that is known.
fn before(record: &RunRecord) -> Vec<Value> {
    let known = record.groups.iter().filter_map(|(name, group)| Some((name, group.before.as_ref()?)));
    known
        .map(|(name, made_of)| json!({"group": name, "release": made_of.release, "image": made_of.image}))
        .collect()
}

async fn read(connection: &Connection, args: &RunArgs) -> Result<Vec<Value>, Failure> {
    let (found, _) = records::all(connection, args.namespace.as_str()).await?;
    let view = cluster(connection).await?;
    let mut all = Vec::new();
    for one in &found {
        if args.run.as_ref().is_some_and(|run| one.run.as_ref().is_none_or(|name| name.as_str() != run)) {
            continue;
        }
        all.push(of(connection, one, &view).await?);
    }
    Ok(all)
}

async fn of(connection: &Connection, found: &FoundRecord, view: &View) -> Result<Value, Failure> {
    let told = match found.record.as_ref().map(told) {
        Ok(Ok(told)) => told,
        Ok(Err(error)) => return Ok(json!({"run": found.run, "unreadable": error.to_string()})),
        Err(error) => return Ok(json!({"run": found.run, "unreadable": error.to_string()})),
    };
    let key = found.holder.meta.key();
    let holder = Lease::holder(connection, (key.namespace.as_str(), key.name.as_str())).await?;
    let left: BTreeSet<NodeName> = nodes_to_replace(view, &told.plan, &told.options);
    let of_role = |is_it: &dyn Fn(NodeRole) -> bool| -> Vec<NodeName> {
        let marked = view.nodes.sorted().into_iter().filter(|(_, node)| {
            mark::of(node).is_some_and(|found| found.is_of_run(&told.run) && is_it(found.mark.role))
        });
        marked.map(|(_, node)| node.name()).collect()
    };
    let claims = view.node_claims.sorted().into_iter().filter(|(_, claim)| claim.meta.is_terminating());
    let mut draining = of_role(&|role| matches!(role, NodeRole::Draining { .. }));
    draining.extend(
        claims.filter_map(|(_, claim)| claim.status.node_name.clone()).filter(|node| left.contains(node)),
    );
    let holder = holder.map(|holder| holder.to_string());
    Ok(
        json!({"run": told.run, "intent": told.intent, "why": records::why(found), "begun": told.options.started.to_string(),
        "heldBy": holder, "left": left, "draining": draining, "drained": of_role(&|role| role == NodeRole::Drained),
        "before": found.record.as_ref().map(before).unwrap_or_default()}),
    )
}

/// Nodes, and the NodeClaims of Karpenter where there are any that may be read.
async fn cluster(connection: &Connection) -> Result<View, Failure> {
    let mut all = nodes(connection, None, 500).await?;
    for node in &mut all {
        (node["apiVersion"], node["kind"]) = ("v1".into(), "Node".into());
    }
    let answer = connection.get("/apis/karpenter.sh/v1/nodeclaims", "application/json").await?;
    if answer.code == 200 {
        let body: Value = serde_json::from_slice(&answer.body).map_err(|error| LiveError::Unreadable {
            path: "nodeclaims".to_owned(),
            why: error.to_string(),
        })?;
        for mut claim in body["items"].as_array().cloned().unwrap_or_default() {
            (claim["apiVersion"], claim["kind"]) = ("karpenter.sh/v1".into(), "NodeClaim".into());
            all.push(claim);
        }
    }
    Ok(all.into_iter().filter_map(|one| Object::from_json(one).ok()).map(Delta::Put).collect())
}
