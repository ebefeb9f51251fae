//! What is asked of a migration, and its rehearsal.

use std::sync::Arc;

use replank_core::migrate;
use replank_core::migrate::{Goal, Migrated, Migration, Options, Request};
use replank_facts::coverage::Question;
use replank_model::object::Object;
use replank_model::object::meta::Key;
use replank_model::selector::LabelSelector;
use replank_model::text::Name;
use replank_model::time::{Span, Time};
use replank_model::view::View;
use replank_protocol::decision::End;
use replank_protocol::limits::run_named;
use replank_rehearse::{MigrationResult, rehearse_migration};
use replank_sim::{Durations, KubeletModel, Settings};

use crate::coverage;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::AnswerFormat;
use crate::place::input;
use crate::printer::Printer;
use crate::snapshot::{self, Origin};

use super::args::MigrateArgs;

use super::report::{Report, is_nothing_to_move};
use super::{json, text, writers};

/// After the patience of both ways, and what it takes besides.
const LIMIT: Span = Span::from_minutes(24 * 60);

/// What a rehearsal came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rehearsed {
    pub(super) exit: Exit,
    /// The object is as it is to be already.
    pub(super) is_nothing_to_move: bool,
}

/// Rehearses, and prints.
pub(super) fn rehearsed(
    args: &MigrateArgs,
    (kind, key, goal): (Migrated, &Key, Goal),
    origin: Origin<'_>,
    printer: &mut Printer,
) -> Result<Rehearsed, Failure> {
    let snapshot::Input { sources, name, .. } = origin.read(printer)?;
    let snapshot::Cluster { view, now, older, coverage } =
        snapshot::read_at(sources, &args.read, args.now, Question::Migration, printer)?;
    let live = live(&view, kind, key)?;
    let after = migrate::wanted(&live, &goal);
    let judgement = migrate::judged(&view, kind, &live, &goal);
    let choice = args.path.choice();
    let path = judgement.path(choice);
    let is_handed_over = matches!(goal, Goal::Rollout(_));
    let writers = writers::of(&live);
    let (before, after) = (selector(&live), selector(&after));
    let request = Request { kind, key: key.clone(), goal, choice };
    let mut result = path.is_ok().then(|| rehearse(args, view, now, request));
    if let Some(result) = &mut result {
        result.assumptions.splice(0..0, older);
    }
    let report = Report {
        name,
        now,
        kind,
        key: key.clone(),
        writers,
        before,
        after,
        is_handed_over,
        judgement,
        path,
        result,
        coverage,
    };
    let text = match args.output {
        AnswerFormat::Text => {
            text::text(&report, printer.look()) + &coverage::section(&report.coverage, printer.look())
        }
        AnswerFormat::Json => json::json(&report)?,
    };
    printer.data(&text)?;
    let exit = coverage::end(&report.coverage, exit(&report));
    Ok(Rehearsed { exit, is_nothing_to_move: is_nothing_to_move(&report) })
}

fn exit(report: &Report) -> Exit {
    let Some(result) = &report.result else {
        return if is_nothing_to_move(report) { Exit::Passes } else { Exit::Blocked };
    };
    let has_gap = result.services.iter().any(replank_rehearse::Served::was_without);
    match &result.end {
        Some(End::Done) if has_gap => Exit::Findings,
        Some(End::Done) => Exit::Passes,
        Some(End::RolledBack(_) | End::Blocked(_) | End::Cancelled(_) | End::Refused(_)) | None => {
            Exit::Blocked
        }
    }
}

fn selector(object: &Object) -> String {
    LabelSelector::formatted(migrate::selector_of(object))
}

pub(super) fn object(args: &MigrateArgs) -> Result<(Migrated, Key), Failure> {
    let (kind, name) = match args.object.split_once('/') {
        Some((kind, name)) if !name.is_empty() && !name.contains('/') => (kind, name),
        Some(_) | None => {
            return Err(Failure::usage_message(format!("{:?} is not an object name", args.object))
                .next("write KIND/NAME, such as deployment/web"));
        }
    };
    let kind = kind.to_lowercase();
    let found = match &*kind {
        "deployment" | "deployments" | "deploy" | "deployments.apps" => Migrated::Deployment,
        "statefulset" | "statefulsets" | "sts" | "statefulsets.apps" => Migrated::StatefulSet,
        "daemonset" | "daemonsets" | "ds" | "daemonsets.apps" => Migrated::DaemonSet,
        "replicaset" | "replicasets" | "rs" | "replicasets.apps" => Migrated::ReplicaSet,
        other => {
            return Err(Failure::usage_message(format!("a {other} cannot be migrated"))
                .next("write deployment/NAME, statefulset/NAME, daemonset/NAME or replicaset/NAME"));
        }
    };
    if args.to_rollout && found != Migrated::Deployment {
        return Err(Failure::usage_message(format!("a Rollout cannot replace a {}", found.kind()))
            .next("only Deployments can be handed over: write deployment/NAME"));
    }
    Ok((found, Key { namespace: args.namespace.clone(), name: Name::from(name) }))
}

pub(super) fn goal(
    args: &MigrateArgs,
    (kind, key): (Migrated, &Key),
    printer: &mut Printer,
) -> Result<Goal, Failure> {
    if let Some(selector) = &args.selector {
        return Ok(Goal::Selector(selector.clone()));
    }
    if args.to_rollout {
        return Ok(Goal::Rollout(args.scale_down.scale_down()));
    }
    let Some(path) = &args.manifest else {
        return Err(Failure::usage_message("no new selector, manifest or Rollout given")
            .next("pass --selector, -f or --to-rollout"));
    };
    let manifest = input::manifest(path, &args.namespace, printer)?;
    let is_it = |object: &&Object| object.kind() == kind.kind() && object.meta().key() == *key;
    let found = manifest.workloads.iter().find(is_it).cloned();
    found.map(Goal::Manifest).ok_or_else(|| {
        Failure::usage_message(format!("{} {key} not found in {}", kind.kind(), manifest.name))
            .next("pass the manifest of the named object, with its namespace")
    })
}

fn live(view: &View, kind: Migrated, key: &Key) -> Result<Object, Failure> {
    let kind = kind.kind();
    view.object(kind, key).ok_or_else(|| {
        let named = view.objects_of(kind).into_iter().filter(|other| other.meta().name == key.name);
        let named: Vec<String> = named.map(|other| other.meta().namespace.to_string()).collect();
        let failure = Failure::usage_message(format!("{kind} {key} not found"));
        match named.as_slice() {
            [] => failure.next("name one from the snapshot"),
            some => failure.next(format!("there is one in {}: pass -n", some.join(", "))),
        }
    })
}

/// What a migration is told; its run has the same name in every process.
pub(super) fn options(args: &MigrateArgs, key: &Key) -> Options {
    Options { run: run_named(&format!("migration-of-{}", key.name)), patience: args.patience }
}

fn rehearse(args: &MigrateArgs, view: View, now: Time, request: Request) -> MigrationResult {
    let durations = Arc::new(Durations::learn(&view, now));
    let settings = Settings {
        start: now,
        seed: args.seed,
        kubelet: KubeletModel::Learnt(durations.clone()),
        cloud: durations.cloud(),
    };
    let (kind, key) = (request.kind, request.key.clone());
    let migration = Migration::new(request, options(args, &key));
    let mut result = rehearse_migration(view, settings, (kind, &key), migration, LIMIT);
    result.assumptions.extend(durations.assumptions());
    result
}
