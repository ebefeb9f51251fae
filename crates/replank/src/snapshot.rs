//! From arguments to a cluster: everything that could be read, and a story of what could not.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read as _;
use std::sync::Arc;

use clap::Args;
use replank_facts::coverage::{Allowed, Coverage, Question, Read, Skipped};
use replank_facts::plan::nearest;
use replank_intake::convert::Conversion;
use replank_intake::now::Now;
use replank_intake::problem::{Lost, Place, Problem};
use replank_intake::snapshot::{Options, Snapshot, Summary};
use replank_intake::source::Source;
use replank_lifecycle::reading::Reader;
use replank_model::delta::Delta;
use replank_model::object::node::LABEL_EKS_NODEGROUP;
use replank_model::text::Text;
use replank_model::time::Time;
use replank_model::view::View;
use replank_sim::{Assumption, Source as AssumedBy};

use crate::failure::Failure;
use crate::given_plan;
use crate::live::{self, LiveArgs};
use crate::printer::Printer;
use crate::report::words::{count, grouped};

/// What to do where there is no snapshot.
pub(crate) const HOW_TO_SNAPSHOT: &str = "save one and pass it:\n  \
    kubectl get nodes,csinodes,leases,namespaces,pods,deployments,replicasets,statefulsets,daemonsets,replicationcontrollers,\
    jobs,cronjobs,pdb,hpa,services,endpointslices,pv,pvc,storageclasses,priorityclasses,resourcequotas,\
    validatingwebhookconfigurations,mutatingwebhookconfigurations \
    -A -o json > cluster.json\n\
    or see the bundled example: replank rehearse";

/// How snapshots are read, on the command line.
#[derive(Args, Clone, Debug)]
pub(crate) struct ReadArgs {
    /// Node label whose value names a node's group.
    #[arg(long, value_name = "KEY", default_value = replank_model::object::node::LABEL_EKS_NODEGROUP)]
    pub(crate) group_label: Text,

    /// Accepts that something is missing: a resource of which the input has no object (poddisruptionbudgets), `read` for parts that cannot be
    /// read, or `data` for versions beyond the built-in data. May be given several times.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) allow_incomplete: Vec<Allowed>,

    /// Ends with an error where any part of a snapshot cannot be read.
    #[arg(long)]
    pub(crate) strict: bool,
}

/// Problems that are told one by one; the others are counted.
const PROBLEMS_SHOWN: usize = 5;

/// A cluster at a moment.
pub(crate) struct Cluster {
    /// Everything there is; at least one node.
    pub(crate) view: View,
    /// When it was.
    pub(crate) now: Time,
    /// Objects that were written in older API versions than those in which they were read.
    pub(crate) older: Option<Assumption>,
    /// What of the cluster can be seen.
    pub(crate) coverage: Coverage,
}

impl ReadArgs {
    /// Everything that is accepted.
    pub(crate) fn allowed(&self) -> Allowed {
        Allowed::all(&self.allow_incomplete)
    }
}

/// Where a cluster is read from.
#[derive(Clone, Copy)]
pub(crate) enum Origin<'a> {
    /// Files, directories, standard input.
    Files(&'a [OsString]),
    /// The API server that a kubeconfig leads to.
    Live(&'a LiveArgs),
}

/// A cluster's objects as text, and what to call them.
pub(crate) struct Input {
    /// The sources.
    pub(crate) sources: Vec<Source>,
    /// What to call all of them.
    pub(crate) name: String,
    /// What to call each.
    pub(crate) names: Vec<String>,
    /// What a live API server says that it runs: major and minor.
    pub(crate) server: Option<(u32, u32)>,
}

impl<'a> Origin<'a> {
    /// The files that are passed, else the live cluster that kubectl would find; `None` where there is neither. Nothing is read.
    ///
    /// # Errors
    /// Where both are asked for.
    pub(crate) fn of(files: &'a [OsString], live: &'a LiveArgs) -> Result<Option<Self>, Failure> {
        match files {
            [] => Ok(live.is_there().then_some(Self::Live(live))),
            _ if live.is_asked_for() => Err(Failure::usage_message(
                "a SNAPSHOT and a live cluster (--context, --kubeconfig) are given",
            )
            .next("pass only one of them")),
            files => Ok(Some(Self::Files(files))),
        }
    }

    /// Reads a live cluster; files are read later.
    ///
    /// # Errors
    /// Where the cluster cannot be reached or read.
    pub(crate) fn read(self, printer: &mut Printer) -> Result<Input, Failure> {
        Ok(match self {
            Self::Files(files) => Input {
                sources: sources(files),
                name: name(files),
                names: files.iter().map(|file| file.to_string_lossy().into_owned()).collect(),
                server: None,
            },
            Self::Live(args) => {
                let live::Read { name, bytes, server } = live::read(args, printer)?;
                let sources = vec![Source::bytes(name.as_str(), bytes)];
                Input { sources, names: vec![name.clone()], name, server: Some(server) }
            }
        })
    }
}

/// Arguments as sources.
pub(crate) fn sources(arguments: &[OsString]) -> Vec<Source> {
    arguments.iter().map(|argument| Source::from_argument(argument)).collect()
}

/// What to call the arguments.
pub(crate) fn name(arguments: &[OsString]) -> String {
    let shown = |argument: &OsStr| {
        if argument == "-" { "standard input".to_owned() } else { argument.to_string_lossy().into_owned() }
    };
    match arguments {
        [] => "nothing".to_owned(),
        [only] => shown(only),
        [first, rest @ ..] => format!("{} and {} more", shown(first), rest.len()),
    }
}

/// Reads a cluster at a moment: the given one, otherwise that which the snapshot tells.
///
/// # Errors
/// Where the sources cannot be read, nothing tells their moment, or there is no node in them.
pub(crate) fn read_at(
    sources: Vec<Source>,
    args: &ReadArgs,
    given: Option<Time>,
    question: Question,
    printer: &mut Printer,
) -> Result<Cluster, Failure> {
    read_with_places(sources, args, given, question, printer, Keep::Nothing).map(|(cluster, _)| cluster)
}

/// Where objects were read, by kind, namespace and name: `Deployment shop/web`.
pub(crate) type Places = BTreeMap<String, Place>;

/// Whether it is kept where objects were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    Places,
    Nothing,
}

/// As [`read_at`], with the places of objects if they are asked for.
///
/// # Errors
/// As there.
pub(crate) fn read_with_places(
    sources: Vec<Source>,
    args: &ReadArgs,
    given: Option<Time>,
    question: Question,
    printer: &mut Printer,
    keep: Keep,
) -> Result<(Cluster, Places), Failure> {
    let options = Options { now: given, with_places: keep == Keep::Places, ..Options::default() };
    let snapshot = load(sources, &options, args, Moment::Told, printer)?;
    let names =
        snapshot.objects.iter().map(|object| format!("{} {}", object.kind_name(), object.meta().key()));
    let compressed = compressed(&snapshot.places);
    let place = |place: &Place| match compressed.contains(&place.source) {
        // The line is one of its content, and nobody who opens the file finds it there.
        true => Place::source(place.source.clone()),
        false => place.clone(),
    };
    let places = names.zip(snapshot.places.iter().map(place)).collect();
    let Some(Now { time: now, .. }) = snapshot.now else {
        return Err(Failure::usage_message("the snapshot does not show when it was taken")
            .next("pass the time: --now 2026-11-20T09:52:00Z"));
    };
    let older = older(&snapshot.summary);
    let (view, coverage) = into_view(snapshot, question, args)?;
    Ok((Cluster { view, now, older, coverage }, places))
}

/// The sources among some places that are files compressed with gzip, by their magic bytes.
fn compressed(places: &[Place]) -> BTreeSet<Arc<str>> {
    let sources: BTreeSet<&Arc<str>> = places.iter().map(|place| &place.source).collect();
    let is_compressed = |source: &Arc<str>| {
        let mut magic = [0; 2];
        let read = File::open(&**source).and_then(|mut file| file.read_exact(&mut magic));
        read.is_ok() && magic == [0x1f, 0x8b]
    };
    sources.into_iter().filter(|source| is_compressed(source)).cloned().collect()
}

/// Reads a cluster whose moment does not matter, and tells it where it shows.
///
/// # Errors
/// Where the sources cannot be read, or there is no node in them.
pub(crate) fn read(
    sources: Vec<Source>,
    args: &ReadArgs,
    question: Question,
    printer: &mut Printer,
) -> Result<(View, Coverage, Option<Time>), Failure> {
    let snapshot = load(sources, &Options::default(), args, Moment::Left, printer)?;
    let now = snapshot.now.as_ref().map(|now| now.time);
    let (view, coverage) = into_view(snapshot, question, args)?;
    Ok((view, coverage, now))
}

/// Whether the story tells the snapshot time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moment {
    Told,
    Left,
}

fn load(
    sources: Vec<Source>,
    options: &Options,
    args: &ReadArgs,
    moment: Moment,
    printer: &mut Printer,
) -> Result<Snapshot, Failure> {
    let mut reader = Reader::default();
    let passed = given_plan::passed(&sources);
    let placed = Options { with_places: true, ..options.clone() };
    let mut snapshot = Snapshot::load_with(sources, &placed, &mut reader).map_err(Failure::usage)?;
    given_plan::refuse(&snapshot, &passed)?;
    if !options.with_places {
        snapshot.places = Vec::new();
    }
    reader.settle(&mut snapshot.objects);
    tell(&snapshot, moment, printer);
    if args.strict && snapshot.summary.losses > 0 {
        let lost = usize::try_from(snapshot.summary.losses).unwrap_or(usize::MAX);
        return Err(Failure::usage_message(format!(
            "{} of the snapshot could not be read",
            count(lost, "part")
        ))
        .next("correct the problems named above, or omit --strict to continue with the rest"));
    }
    Ok(snapshot)
}

fn into_view(snapshot: Snapshot, question: Question, args: &ReadArgs) -> Result<(View, Coverage), Failure> {
    let mut view = View::default();
    let read = found(&snapshot);
    for object in snapshot.objects {
        view.apply(Delta::Put(object));
    }
    if view.nodes.is_empty() {
        return Err(Failure::usage_message("the snapshot contains no Node").next(HOW_TO_SNAPSHOT));
    }
    check_group_label(&view, &args.group_label)?;
    let coverage = Coverage::of(&view, question, read, &args.allowed());
    Ok((view, coverage))
}

/// A label that somebody names and no node has is a mistake: without groups hardly anything would be found. EKS's own, which is the default, may be absent.
fn check_group_label(view: &View, label: &Text) -> Result<(), Failure> {
    let mut nodes = view.nodes.unordered().map(|(_, node)| node);
    if **label == *LABEL_EKS_NODEGROUP || nodes.any(|node| node.meta.labels.contains_key(label)) {
        return Ok(());
    }
    let keys: BTreeSet<&str> =
        view.nodes.unordered().flat_map(|(_, node)| node.meta.labels.iter().map(|(key, _)| key)).collect();
    let next = match nearest(label, keys) {
        Some(meant) => format!("did you mean {meant}?"),
        None => "list the nodes' labels: kubectl get nodes --show-labels".to_owned(),
    };
    Err(Failure::usage_message(format!("no node has the label {label} (--group-label)")).next(next))
}

/// Parts that could not be read and are kept in words; the others are counted.
const SKIPPED_MAX: usize = 10;

/// What was read, and what was not.
fn found(snapshot: &Snapshot) -> Read {
    let lost = snapshot.problems.iter().filter(|problem| problem.lost != Lost::Nothing);
    Read {
        objects: snapshot.summary.objects.clone(),
        listed: snapshot.summary.listed.clone(),
        skipped: Skipped {
            parts: snapshot.summary.losses,
            kinds: snapshot.summary.lost.clone(),
            first: lost.take(SKIPPED_MAX).map(ToString::to_string).collect(),
        },
    }
}

fn tell(snapshot: &Snapshot, moment: Moment, printer: &mut Printer) {
    let summary = &snapshot.summary;
    printer.story(&in_numbers(summary));
    if let (Moment::Told, Some(now)) = (moment, snapshot.now) {
        printer.story(&format!("snapshot time: {}: {}", now.time, now.basis));
    }
    if let Some(Assumption { about, value, .. }) = older(summary) {
        printer.story(&format!("{about}: {value}"));
    }
    for empty in &summary.empty_sources {
        printer.warning(&format!("{empty} is empty"));
    }
    problems(&snapshot.problems, summary.problems, printer);
    if let Some(first) = summary.passed_over.first() {
        let others = match summary.passed_over.len() {
            1 => String::new(),
            number => format!(", and {} more", number - 1),
        };
        printer.story(&format!("not read: {} ({}){others}", first.path.display(), first.why));
    }
}

/// `read 541 objects from 1 file: 40 nodes, 373 pods, 18 budgets`
fn in_numbers(summary: &Summary) -> String {
    let of =
        |kind: &str| usize::try_from(summary.objects.get(kind).copied().unwrap_or(0)).unwrap_or(usize::MAX);
    let all: u64 = summary.objects.values().sum();
    format!(
        "read {} from {}: {}, {}, {}",
        count(usize::try_from(all).unwrap_or(usize::MAX), "object"),
        count(summary.sources, "source"),
        count(of("Node"), "node"),
        count(of("Pod"), "pod"),
        count(of("PodDisruptionBudget"), "disruption budget"),
    )
}

/// Versions that are named; the others are counted.
const OLDER_SHOWN: usize = 6;

/// Objects of older API versions, and what they were read as: what an older version took for granted is written out.
fn older(summary: &Summary) -> Option<Assumption> {
    let number = |objects: u64| usize::try_from(objects).unwrap_or(usize::MAX);
    let all: u64 = summary.converted.values().sum();
    if all == 0 {
        return None;
    }
    let in_words = |(conversion, objects): (&Conversion, &u64)| match number(*objects) {
        1 => conversion.to_string(),
        objects => format!("{conversion} ({})", grouped(objects)),
    };
    let mut named: Vec<String> = summary.converted.iter().take(OLDER_SHOWN).map(in_words).collect();
    if let Some(others) = summary.converted.len().checked_sub(OLDER_SHOWN).filter(|others| *others > 0) {
        named.push(format!("{others} more"));
    }
    Some(Assumption {
        about: "older API versions".to_owned(),
        value: format!("{} read as newer ones: {}", count(number(all), "object"), named.join(", ")),
        source: AssumedBy::Default,
    })
}

/// What could not be read first, then what was read with a doubt.
fn problems(problems: &[Problem], all: u64, printer: &mut Printer) {
    let mut sorted: Vec<&Problem> = problems.iter().collect();
    sorted.sort_by_key(|problem| problem.lost == Lost::Nothing);
    for problem in sorted.iter().take(PROBLEMS_SHOWN) {
        printer.warning(&problem.to_string());
    }
    let all = usize::try_from(all).unwrap_or(usize::MAX);
    if all > PROBLEMS_SHOWN {
        printer.warning(&format!("and {} more problems with the input", grouped(all - PROBLEMS_SHOWN)));
    }
}
