//! `replank migrate`: a Deployment gets another selector, or is handed over to a Rollout, without a gap, rehearsed.

mod args;
mod json;
mod text;

use std::sync::Arc;

use replank_core::decision::End;
use replank_core::migrate::{self, Choice, Goal, Hindrance, Judgement, Migration, Options, Path, Request};
use replank_model::object::meta::Key;
use replank_model::object::workload::Deployment;
use replank_model::object::{Kind, Object};
use replank_model::text::{Name, RunId};
use replank_model::time::{Span, Time};
use replank_model::view::View;
use replank_sim::rehearse::{MigrationResult, rehearse_migration};
use replank_sim::{Durations, KubeletModel, Settings};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::place::input;
use crate::printer::Printer;
use crate::snapshot::{self, HOW_TO_SNAPSHOT};

use args::Format;
pub(crate) use args::MigrateArgs;

/// After the patience of both ways, and what it takes besides.
const LIMIT: Span = Span::from_minutes(24 * 60);

/// What was judged, and what came of it.
#[derive(Debug)]
struct Report {
    /// What was read, in a few words.
    name: String,
    /// When it was.
    now: Time,
    deployment: Key,
    before: String,
    after: String,
    /// Whether it keeps its selector, and a Rollout takes over.
    is_handed_over: bool,
    judgement: Judgement,
    /// The way that was taken, or what forbids it.
    path: Result<Path, Vec<Hindrance>>,
    /// What came of it; `None` where no way is open.
    result: Option<MigrationResult>,
}

/// Judges, rehearses, prints.
///
/// # Errors
/// Where what was asked for is not right, or the machine fails.
pub(crate) fn run(args: &MigrateArgs, printer: &mut Printer) -> Result<Exit, Failure> {
    let key = key(args)?;
    if args.snapshots.is_empty() {
        return Err(
            Failure::usage_message("no snapshot of a cluster to rehearse it on").next(HOW_TO_SNAPSHOT)
        );
    }
    let goal = goal(args, &key, printer)?;
    let sources = snapshot::sources(&args.snapshots);
    let snapshot::Cluster { view, now, older } = snapshot::read_at(sources, &args.read, args.now, printer)?;
    let live = live(&view, &key)?;
    let after = migrate::after(&live, &goal);
    let judgement = migrate::judge(&view, &live, &goal);
    let choice = args.path.choice();
    let path = judgement.path(choice);
    let is_handed_over = matches!(goal, Goal::Rollout(_));
    let mut result = path.is_ok().then(|| rehearse(args, view, now, &key, (goal, choice)));
    if let Some(result) = &mut result {
        result.assumptions.splice(0..0, older);
    }
    let name = snapshot::name(&args.snapshots);
    let (before, after) = (selector(&live), selector(&after));
    let report =
        Report { name, now, deployment: key, before, after, is_handed_over, judgement, path, result };
    let text = match args.output {
        Format::Text => text::text(&report, printer.look()),
        Format::Json => json::json(&report)?,
    };
    printer.data(&text)?;
    Ok(exit(&report))
}

fn exit(report: &Report) -> Exit {
    let Some(result) = &report.result else { return Exit::Blocked };
    let has_gap = result.services.iter().any(replank_sim::rehearse::Served::was_without);
    match &result.end {
        Some(End::Done) if has_gap => Exit::Findings,
        Some(End::Done) => Exit::Passes,
        Some(End::RolledBack(_) | End::Blocked(_) | End::Cancelled(_) | End::Refused(_)) | None => {
            Exit::Blocked
        }
    }
}

fn selector(deployment: &Deployment) -> String {
    replank_model::selector::LabelSelector::formatted(deployment.spec.selector.as_ref())
}

fn key(args: &MigrateArgs) -> Result<Key, Failure> {
    const KINDS: [&str; 4] = ["deployment", "deployments", "deploy", "deployments.apps"];
    let (kind, name) = match args.object.split_once('/') {
        Some((kind, name)) if !name.is_empty() && !name.contains('/') => (kind, name),
        Some(_) | None => {
            return Err(Failure::usage_message(format!("{:?} names no object", args.object))
                .next("write KIND/NAME, as in deployment/web"));
        }
    };
    if !KINDS.contains(&&*kind.to_lowercase()) {
        return Err(Failure::usage_message(format!("a {kind} cannot be migrated"))
            .next("Deployments can: write deployment/NAME"));
    }
    Ok(Key { namespace: args.namespace.clone(), name: Name::from(name) })
}

fn goal(args: &MigrateArgs, key: &Key, printer: &mut Printer) -> Result<Goal, Failure> {
    if let Some(selector) = &args.selector {
        return Ok(Goal::Selector(selector.clone()));
    }
    if args.to_rollout {
        return Ok(Goal::Rollout(args.scale_down.scale_down()));
    }
    let Some(path) = &args.manifest else {
        return Err(Failure::usage_message("nothing says what it is to be")
            .next("pass --selector, -f or --to-rollout"));
    };
    let manifest = input::manifest(path, &args.namespace, printer)?;
    let found = manifest.workloads.iter().find_map(|object| match object {
        Object::Deployment(deployment) if deployment.meta.key() == *key => Some(deployment.clone()),
        _ => None,
    });
    found.map(Goal::Manifest).ok_or_else(|| {
        Failure::usage_message(format!("there is no {} {key} in {}", Kind::Deployment, manifest.name))
            .next("pass the manifest of the Deployment that is named, with its namespace")
    })
}

fn live(view: &View, key: &Key) -> Result<Arc<Deployment>, Failure> {
    view.deployments.by_key(key).cloned().ok_or_else(|| {
        let named: Vec<String> = view
            .deployments
            .sorted()
            .into_iter()
            .filter(|(_, other)| other.meta.name == key.name)
            .map(|(_, other)| other.meta.namespace.to_string())
            .collect();
        let failure = Failure::usage_message(format!("there is no {} {key}", Kind::Deployment));
        match named.as_slice() {
            [] => failure.next("name one that is in the snapshot"),
            some => failure.next(format!("there is one in {}: pass -n", some.join(", "))),
        }
    })
}

fn rehearse(
    args: &MigrateArgs,
    view: View,
    now: Time,
    key: &Key,
    (goal, choice): (Goal, Choice),
) -> MigrationResult {
    let durations = Arc::new(Durations::learn(&view, now));
    let settings = Settings {
        start: now,
        seed: args.seed,
        kubelet: KubeletModel::Learnt(durations.clone()),
        cloud: durations.cloud(),
    };
    let run = RunId::new(format!("migration-of-{}", key.name));
    let request = Request { deployment: key.clone(), goal, choice };
    let migration = Migration::new(request, Options { run, patience: args.patience });
    let mut result = rehearse_migration(view, settings, key, migration, LIMIT);
    result.assumptions.extend(durations.assumptions());
    result
}
