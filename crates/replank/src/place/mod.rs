//! `replank place`.

mod audit;
pub(crate) mod input;
mod json;
mod pending;
mod question;
mod stuck;
mod subject;
mod table;
mod text;

use question::group_by;
pub(crate) use question::{Found, Question, Why};
use replank_advice::place::{Outcome, PlacementQuery, WhatIf, WhatIfError};

#[cfg(test)]
mod documented;

use replank_facts::coverage::{Coverage, Question as About};
use replank_facts::pod_factory::PodFactory;
use replank_model::view::View;
use std::ffi::{OsStr, OsString};

use crate::cli::PlaceArgs;
use crate::coverage;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::PlaceFormat;
use crate::printer::Printer;
use crate::snapshot::{self, HOW_TO_SNAPSHOT, Origin};
use subject::Asked;

/// Remedies that are shown: the smallest.
const REMEDIES_MAX: usize = 5;

/// Answers where pods would go.
///
/// # Errors
/// Where what was asked for is not right.
pub(crate) fn run(args: &PlaceArgs, printer: &mut Printer) -> Result<Exit, Failure> {
    let (pod, snapshots) = positionals(args)?;
    // The manifest first: its mistakes are found in no time, and a large snapshot takes a while.
    let manifest = match &args.manifest {
        Some(path) => Some(input::manifest(path, &args.namespace, printer)?),
        None => None,
    };
    let origin = origin(pod.as_deref(), &snapshots, args)?;
    let (view, coverage, now) =
        snapshot::read(origin.read(printer)?.sources, &args.read, About::Placement, printer)?;
    if args.audit {
        return audit::run(args, view, now, &coverage, printer);
    }
    let mut query = query(args, view)?;
    if args.all_pending {
        let queued = query.place_all_pending();
        return pending::report(args, &mut query, &queued, &coverage, printer);
    }
    let asked = match (manifest, pod) {
        (Some(manifest), _) => subject::of_manifest(&mut query, manifest)?,
        (None, Some(pod)) => vec![subject::of_argument(&mut query, &pod, args)?],
        (None, None) => Vec::new(),
    };
    let questions: Vec<Question> = asked.into_iter().map(|asked| answer(&mut query, asked, args)).collect();
    report(args, &query, &questions, &coverage, printer)
}

/// POD and the snapshots: the first positional argument is a snapshot where something else says what is asked about.
fn positionals(args: &PlaceArgs) -> Result<(Option<String>, Vec<OsString>), Failure> {
    let is_said = args.manifest.is_some() || args.all_pending || args.audit;
    let mut snapshots = args.snapshots.clone();
    let mut pod = None;
    match &args.pod {
        Some(first) if is_said && is_like_a_pod(first) => {
            return Err(Failure::usage_message(format!(
                "{} names a pod, but -f, --all-pending or --audit was passed as well",
                first.to_string_lossy()
            ))
            .next("pass only one of them"));
        }
        Some(first) if is_said => snapshots.insert(0, first.clone()),
        Some(first) => pod = Some(first.to_string_lossy().into_owned()),
        None if is_said => {}
        None => {
            return Err(Failure::usage_message("no pod given").next(
                "name one, as in: replank place deployment/web cluster.json\n\
                 or pass -f MANIFEST, --all-pending or --audit",
            ));
        }
    }
    Ok((pod, snapshots))
}

/// Where the cluster is read from.
fn origin<'a>(
    pod: Option<&str>,
    snapshots: &'a [OsString],
    args: &'a PlaceArgs,
) -> Result<Origin<'a>, Failure> {
    let file = pod.filter(|pod| std::path::Path::new(pod).exists());
    // A file in a pod's place is a mistake, whatever cluster is there.
    let origin = Origin::of(snapshots, &args.live)?.filter(|_| file.is_none() || !snapshots.is_empty());
    if let Some(origin) = origin {
        return Ok(origin);
    }
    let error = match file {
        Some(file) => {
            Failure::usage_message(format!("{file} was read as a pod name, and no snapshot is given"))
                .next(format!("name the pod: replank place POD {file}"))
        }
        None => Failure::usage_message("no snapshot to place pods on").next(HOW_TO_SNAPSHOT),
    };
    Err(error)
}

/// `deployment/web` rather than a file.
fn is_like_a_pod(text: &OsStr) -> bool {
    let words = text.to_string_lossy();
    let kind = words.split_once('/').map(|(kind, _)| kind);
    kind.is_some_and(subject::is_kind_name) && !std::path::Path::new(text).exists()
}

fn query(args: &PlaceArgs, view: View) -> Result<PlacementQuery, Failure> {
    let what_if = WhatIf {
        without: args.without.clone(),
        cordon: args.cordon.clone(),
        only_group: args.only_group.clone(),
    };
    let known: Vec<String> = groups(&view, args);
    PlacementQuery::new(view, group_by(args), &what_if).map_err(|error| {
        let next = match &error {
            WhatIfError::NoSuchNode { meant: Some(meant), .. } => format!("did you mean {meant}?"),
            WhatIfError::NoSuchNode { meant: None, .. } | WhatIfError::NobodyLabelled { .. } => {
                "list the nodes of the snapshot: kubectl get nodes --show-labels".to_owned()
            }
            WhatIfError::NoSuchGroup { meant: Some(meant), .. } => format!("did you mean {meant}?"),
            WhatIfError::NoSuchGroup { meant: None, .. } if known.is_empty() => {
                format!("no node has the label {}: name another with --group-label", args.read.group_label)
            }
            WhatIfError::NoSuchGroup { meant: None, .. } => format!("there are {}", known.join(", ")),
            WhatIfError::NoneLeft => "remove a node from --without".to_owned(),
        };
        Failure::usage(error).next(next)
    })
}

fn groups(view: &View, args: &PlaceArgs) -> Vec<String> {
    let domains = view.domains(&args.read.group_label);
    domains.filter(|(_, nodes)| !nodes.is_empty()).map(|(name, _)| name.to_owned()).collect()
}

/// Asks, and takes what fits to be there from then on.
fn answer(query: &mut PlacementQuery, asked: Asked, args: &PlaceArgs) -> Question {
    let Asked { object, editable, notes, factory, first, copies } = asked;
    let result = match first {
        None => per_node(query, &factory, args),
        Some(pod) => {
            let answer = query.ask(&pod);
            let worded = table::worded(&answer.rows, args);
            let why = query.why(&pod, &worded);
            let is_stuck = matches!(answer.outcome, Outcome::DoesNotFit(_));
            let asked =
                args.replicas.map_or(copies, |replicas| usize::try_from(replicas).unwrap_or(usize::MAX));
            let (copies, misfit) = if is_stuck {
                (None, Some(pod))
            } else {
                let copies = query.copies(Some(&pod), &factory, asked);
                let stuck = copies.stopped.as_ref().map(|(pod, _)| pod.clone());
                (Some(copies).filter(|_| asked > 1 || args.replicas.is_some()), stuck)
            };
            let remedies = misfit.map_or(Vec::new(), |pod| query.remedies(&pod, REMEDIES_MAX));
            Found::Pod { answer: Box::new(answer), why, copies, remedies }
        }
    };
    Question { object, editable, notes, result }
}

fn per_node(query: &mut PlacementQuery, factory: &PodFactory, args: &PlaceArgs) -> Found {
    let rows = query.ask_per_node(factory);
    let plain: Vec<_> = rows.iter().map(|row| row.row.clone()).collect();
    let worded: std::collections::BTreeSet<_> = table::worded(&plain, args).into_iter().collect();
    let mut why = Why::new();
    for row in rows.iter().filter(|row| worded.contains(&row.row.node)) {
        why.extend(query.why(&row.pod, std::slice::from_ref(&row.row.node)));
    }
    Found::PerNode { rows, why }
}

fn report(
    args: &PlaceArgs,
    query: &PlacementQuery,
    questions: &[Question],
    coverage: &Coverage,
    printer: &mut Printer,
) -> Result<Exit, Failure> {
    let look = printer.look();
    let data = match args.output {
        PlaceFormat::Text | PlaceFormat::Wide => {
            text::questions(args, questions, look) + &coverage::section(coverage, look)
        }
        PlaceFormat::Json => json::questions(args, query, questions, coverage)?,
        PlaceFormat::Name => text::names(questions),
    };
    printer.data(&data)?;
    let fits = questions.iter().all(|question| question.result.fits());
    Ok(coverage::end(coverage, if fits { Exit::Passes } else { Exit::Findings }))
}
