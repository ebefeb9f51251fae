//! An upgrade is begun, or gone on with.

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write, stdin};
use std::time::Duration;

use replank_advice::upgrade::finding::{Finding, Rule, Severity};
use replank_advice::upgrade::minor::Minor;
use replank_advice::upgrade::plan::{ADDON, BAKE, HOP, Options, What};
use replank_facts::cluster_name::cluster_name;
use replank_live::aws::Aws;
use replank_live::{Connection, Holder, Lease, nodes};
use replank_model::delta::Delta;
use replank_model::object::Object;
use replank_model::text::Text;
use replank_model::time::Span;
use replank_model::view::View;
use serde_json::{Value, json};

use super::args::{HowArgs, PlaceArgs, UpgradeResumeArgs, UpgradeRunArgs};
use super::belongs::belongs;
use super::carry::{Carrying, Left};
use super::eyes::{Eyes, Seen, described};
use super::ground::{Ground, RESUME};
use super::keeper::{Keeper, Taken};
use super::record::{Kept, Todo, Upgrade, name_of, one};
use super::show;
use super::teller::Teller;
use crate::commit::Commit;
use crate::coverage;
use crate::drain::RbacVerb;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::live::{Format, permitted, runtime};
use crate::printer::Printer;
use crate::report::words::count;
use crate::roll::{AwsArgs, account_asked, identity};
use crate::snapshot::ReadArgs;
use crate::upgrade::plan::input::kubelets;
use crate::upgrade::values::RouteWord;

/// How often it is looked whether a Lease has been renewed.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Plans, asks, and carries out.
///
/// # Errors
/// Where it is not begun, or the cluster or the account is lost.
pub(in crate::upgrade) fn run(
    args: &UpgradeRunArgs,
    printer: &mut Printer,
    interrupt: &Interrupt,
) -> Result<Exit, Failure> {
    let kubelets = kubelets(&args.kubelet)?;
    let runtime = runtime()?;
    let namespace = args.place.namespace.as_str();
    let (connection, aws, cluster) = runtime.block_on(async {
        let connection = Connection::open(&args.place.live.asked()).await?;
        let rules = if args.dry_run { RbacVerb::Roll.reads() } else { RbacVerb::Roll.rules() };
        permitted(&connection, None, &rules).await?;
        if !args.dry_run {
            permitted(&connection, Some(namespace), RbacVerb::Roll.of_namespace()).await?;
        }
        let aws = Aws::open(&account_asked(&args.aws)).await?;
        let cluster = meant(&connection, args.cluster.as_deref()).await?;
        Ok::<_, Failure>((connection, aws, cluster))
    })?;
    printer.story(&format!("AWS account {} in {}", aws.account(), aws.region()));
    if !args.dry_run {
        runtime.block_on(is_free(&connection, namespace, &cluster))?;
    }
    let bake = args.bake.unwrap_or(BAKE);
    let options = Options {
        to: Minor(args.to.minor),
        from: None,
        way: args.route.map(RouteWord::way),
        hop: HOP,
        addon: ADDON,
        bake,
    };
    let eyes = Eyes {
        runtime: &runtime,
        aws: &aws,
        cluster: &cluster,
        live: &args.place.live,
        read: &args.read,
        scan: &args.scan,
        kubelets,
        options,
    };
    let seed = (!args.no_rehearsal).then_some(1);
    let seen = eyes.look(seed, printer, interrupt)?;
    if interrupt.is_pressed() {
        printer.warning("interrupted by Ctrl-C: nothing was changed");
        return Ok(Exit::Interrupted);
    }
    runtime.block_on(belongs(&aws, &seen.cluster, &connection))?;
    is_offered(&seen, args)?;
    shown(&seen, args, printer)?;
    if seen.is_updating() {
        printer.story(&format!("an update of {cluster} is in progress: it is followed if it is the first step, otherwise waited for"));
    }
    if let Some(exit) = refused(&seen, args, printer) {
        return Ok(exit);
    }
    let steps = seen.planned.plan.steps.len();
    if steps == 0 {
        printer.story(&format!("nothing to do: {cluster} runs {} already", args.to));
        return Ok(Exit::Passes);
    }
    confirm(args.yes, &format!("upgrade {cluster} to {}, {}", args.to, count(steps, "step")))?;
    confirmed(interrupt)?;
    let mut upgrade = Upgrade {
        cluster: cluster.clone(),
        account: aws.account().to_owned(),
        region: aws.region().to_owned(),
        from: seen.planned.plan.survey.control_plane.version.to_string(),
        to: args.to.to_string(),
        begun: connection.now(),
        group_label: args.read.group_label.to_string(),
        route: args.route.map(|route| route.as_str().to_owned()),
        scan: args.scan.iter().map(|path| path.display().to_string()).collect(),
        kubelet: args.kubelet.iter().map(|(group, _)| group.clone()).collect(),
        conflicts: BTreeMap::new(),
        steps: Upgrade::steps_of(&seen.planned.plan.steps, bake),
    };
    upgrade.resolve(&args.how.conflicts);
    let begun = Begun { runtime: &runtime, connection: &connection, aws: &aws, eyes };
    begin(begun, upgrade, (&args.how, &args.place, &args.aws), printer, interrupt)
}

/// What an upgrade is begun with.
pub(super) struct Begun<'b> {
    pub(super) runtime: &'b tokio::runtime::Runtime,
    pub(super) connection: &'b Connection,
    pub(super) aws: &'b Aws,
    pub(super) eyes: Eyes<'b>,
}

/// Takes the Lease, writes the record, and carries out.
///
/// # Errors
/// Where somebody else has begun one meanwhile, or the cluster or the account is lost.
pub(super) fn begin(
    Begun { runtime, connection, aws, eyes }: Begun<'_>,
    upgrade: Upgrade,
    (how, place, account): (&HowArgs, &PlaceArgs, &AwsArgs),
    printer: &mut Printer,
    interrupt: &Interrupt,
) -> Result<Exit, Failure> {
    let namespace = place.namespace.as_str();
    let cluster = upgrade.cluster.clone();
    let Taken::Ours(keeper) = Keeper::take(place.live.asked(), place_of(namespace, &cluster), identity())?
    else {
        return Err(begun_meanwhile(&cluster));
    };
    let Some(mut kept) = runtime.block_on(Kept::begin(connection, namespace, upgrade))? else {
        return Err(begun_meanwhile(&cluster));
    };
    let with = With { runtime, connection, aws, keeper, eyes };
    carry(with, &mut kept, (how, place, account), printer, interrupt)
}

/// Goes on with an upgrade that was begun.
///
/// # Errors
/// Where there is none, another process works on it, or the cluster or the account is lost.
pub(in crate::upgrade) fn resume(
    args: &UpgradeResumeArgs,
    printer: &mut Printer,
    interrupt: &Interrupt,
) -> Result<Exit, Failure> {
    let kubelets = kubelets(&args.kubelet)?;
    let runtime = runtime()?;
    let namespace = args.place.namespace.as_str();
    let (connection, kept) = runtime.block_on(async {
        let connection = Connection::open(&args.place.live.asked()).await?;
        permitted(&connection, None, &RbacVerb::Roll.rules()).await?;
        permitted(&connection, Some(namespace), RbacVerb::Roll.of_namespace()).await?;
        let kept = one(&connection, namespace, args.cluster.as_deref()).await?;
        Ok::<_, Failure>((connection, kept))
    })?;
    let upgrade = &kept.upgrade;
    has_what_run_had(args, upgrade)?;
    let mut account = args.aws.clone();
    account.region = account.region.or_else(|| Some(upgrade.region.clone()));
    let aws = runtime.block_on(Aws::open(&account_asked(&account)))?;
    if aws.account() != upgrade.account {
        return Err(Failure::usage_message(format!(
            "the upgrade of {} was begun in account {}, and these credentials are of account {}",
            upgrade.cluster,
            upgrade.account,
            aws.account()
        ))
        .next("pass --profile NAME"));
    }
    if aws.region() != upgrade.region {
        return Err(Failure::usage_message(format!(
            "the upgrade of {} was begun in region {}, and {} is given",
            upgrade.cluster,
            upgrade.region,
            aws.region()
        ))
        .next(format!("pass --region {}", upgrade.region)));
    }
    runtime.block_on(async {
        let answer = described(&aws, &upgrade.cluster).await?;
        belongs(&aws, &answer["cluster"], &connection).await
    })?;
    let (cluster, place) = (upgrade.cluster.clone(), place_of(namespace, &upgrade.cluster));
    let keeper = taken(&runtime, &connection, (args.place.live.asked(), &place, &cluster), printer)?;
    // Whoever held the Lease until now may have written since.
    let mut kept = runtime.block_on(one(&connection, namespace, Some(&cluster)))?;
    if !args.how.conflicts.is_empty() {
        kept.upgrade.resolve(&args.how.conflicts);
        runtime.block_on(kept.write(&connection))?;
    }
    let read = ReadArgs {
        group_label: Text::from(kept.upgrade.group_label.as_str()),
        allow_incomplete: args.allow_incomplete.clone(),
        strict: false,
    };
    let to = Minor::of(&kept.upgrade.to).ok_or_else(|| {
        Failure::usage_message(format!("the record of the upgrade says no version: {:?}", kept.upgrade.to))
            .next("replank upgrade cancel, then begin again")
    })?;
    // A way back is planned from where the control plane is.
    let to = Minor::of(&kept.upgrade.from).map_or(to, |from| from.max(to));
    let way = kept.upgrade.route.as_deref().and_then(RouteWord::read).map(RouteWord::way);
    let options = Options { bake: Span::ZERO, way, ..Options::to(to) };
    let eyes = Eyes {
        runtime: &runtime,
        aws: &aws,
        cluster: &cluster,
        live: &args.place.live,
        read: &read,
        scan: &args.scan,
        kubelets,
        options,
    };
    let with = With { runtime: &runtime, connection: &connection, aws: &aws, keeper, eyes };
    carry(with, &mut kept, (&args.how, &args.place, &account), printer, interrupt)
}

/// Whether as much can be seen before a step as when the upgrade was begun.
fn has_what_run_had(args: &UpgradeResumeArgs, upgrade: &Upgrade) -> Result<(), Failure> {
    let mut missing: Vec<String> = Vec::new();
    if args.scan.is_empty() {
        missing.extend(upgrade.scan.iter().map(|path| format!("--scan {path}")));
    }
    let groups = upgrade.kubelet.iter().filter(|group| !args.kubelet.iter().any(|(own, _)| own == *group));
    missing.extend(groups.map(|group| format!("--kubelet {group}=FILE")));
    if missing.is_empty() {
        return Ok(());
    }
    let missing = missing.join(" ");
    Err(Failure::usage_message(format!(
        "the upgrade of {} was begun with {missing}: without it, less is seen before a step",
        upgrade.cluster
    ))
    .next(format!("pass the same again: {RESUME} {missing}")))
}

/// What an upgrade is carried out with.
struct With<'w> {
    runtime: &'w tokio::runtime::Runtime,
    connection: &'w Connection,
    aws: &'w Aws,
    keeper: Keeper,
    eyes: Eyes<'w>,
}

fn carry(
    with: With<'_>,
    kept: &mut Kept,
    (how, place, account): (&HowArgs, &PlaceArgs, &AwsArgs),
    printer: &mut Printer,
    interrupt: &Interrupt,
) -> Result<Exit, Failure> {
    let With { runtime, connection, aws, keeper, eyes } = with;
    let cluster = kept.upgrade.cluster.clone();
    let teller = Teller::new(place.output);
    let ground = Ground {
        aws,
        connection,
        keeper: &keeper,
        teller,
        cluster: &cluster,
        is_forced: how.ignore_insights,
    };
    let carrying = Carrying { runtime, ground, eyes, aws: account, how, place };
    interrupt.hold();
    let left = match carrying.go(kept, printer, interrupt) {
        Ok(left) => left,
        Err(failure) => {
            printer.warning(&format!("the upgrade stays recorded (replank upgrade status); once the error below is cleared: {RESUME}"));
            return Err(failure);
        }
    };
    let now = connection.now();
    let of = kept.upgrade.steps.len();
    let after = |index: usize| match index {
        0 => "nothing was changed".to_owned(),
        done => format!("{done} of {} done", count(of, "step")),
    };
    let end = |word: &str, text: &str| teller.say(now, text, json!({"event": "end", "result": word}));
    Ok(match left {
        Left::Done => {
            runtime.block_on(kept.remove(connection))?;
            end(
                "done",
                &format!("the upgrade of {cluster} to {} is done: {}", kept.upgrade.to, count(of, "step")),
            );
            let commits = runtime.block_on(commits(aws, kept))?;
            for commit in commits {
                teller.say(
                    now,
                    &format!("to commit: {}", commit.line()),
                    json!({"event": "commit", "of": commit.of,
                    "terraform": commit.terraform, "cloudFormation": commit.cloud_formation}),
                );
            }
            Exit::Passes
        }
        Left::Until(index) => {
            end("stopped", &format!("{}, as asked; to go on: {RESUME}", after(index)));
            Exit::Passes
        }
        Left::Stopped(index, stop) => {
            let text = format!("step {} of {of} is not done: {}", index + 1, stop.why);
            end(
                "blocked",
                &format!("{}; {}", after(index), "the upgrade stays recorded (replank upgrade status)"),
            );
            printer.failure(&Failure::usage_message(text).next(stop.next));
            stop.exit
        }
        Left::Interrupted(index) => {
            let text = format!(
                "interrupted: {}; what EKS or a roll does for step {} stays as it is; to go on: {RESUME}",
                after(index),
                index + 1
            );
            end("interrupted", &text);
            Exit::Interrupted
        }
        Left::Lost(index) => {
            let text = format!(
                "this process has stopped working on the upgrade: another process holds its Lease, or it could not be renewed; {}",
                after(index)
            );
            end("left", &text);
            Exit::Internal
        }
    })
}

/// What to commit when all is done.
async fn commits(aws: &Aws, kept: &Kept) -> Result<Vec<Commit>, Failure> {
    let mut all = Vec::new();
    let upgrade = &kept.upgrade;
    for step in &upgrade.steps {
        match &step.what {
            Todo::ControlPlane { to, from: _ } if *to == upgrade.to => {
                all.push(Commit::cluster(&upgrade.cluster, to));
            }
            Todo::ControlPlane { .. }
            | Todo::Bake { .. }
            | Todo::LeftToProvisioner { .. }
            | Todo::Roll { .. } => {}
            Todo::KubeProxy { .. } => all.extend(addon(aws, upgrade, "kube-proxy").await?),
            Todo::Addon { name, .. } => {
                let commit = addon(aws, upgrade, name).await?;
                all.retain(|known| Some(&known.of) != commit.as_ref().map(|commit| &commit.of));
                all.extend(commit);
            }
        }
    }
    for group in aws.nodegroups(&upgrade.cluster).await? {
        let answer = aws.described_nodegroup(&upgrade.cluster, &group).await?;
        let own = &answer["nodegroup"];
        let pair = |kind: &str, value: &Value| Some((kind.to_owned(), value.as_str()?.to_owned()));
        let params = [
            pair("Version", &own["version"]),
            pair("ReleaseVersion", &own["releaseVersion"]),
            pair("LaunchTemplateVersion", &own["launchTemplate"]["version"]),
        ];
        all.extend(Commit::nodegroup(&group, &params.into_iter().flatten().collect::<Vec<_>>()));
    }
    Ok(all)
}

async fn addon(aws: &Aws, upgrade: &Upgrade, name: &str) -> Result<Option<Commit>, Failure> {
    let answer = aws.addon(&upgrade.cluster, name).await?;
    let version = answer.as_ref().and_then(|answer| answer["addon"]["addonVersion"].as_str());
    Ok(version.map(|version| Commit::addon(name, version)))
}

fn place_of(namespace: &str, cluster: &str) -> (String, String) {
    (namespace.to_owned(), name_of(cluster))
}

/// Takes the Lease; one of a process that was killed is waited for.
fn taken(
    runtime: &tokio::runtime::Runtime,
    connection: &Connection,
    (asked, place, cluster): (replank_live::Asked, &(String, String), &str),
    printer: &mut Printer,
) -> Result<Keeper, Failure> {
    let mut first: Option<Holder> = None;
    loop {
        match Keeper::take(asked.clone(), place.clone(), identity())? {
            Taken::Ours(keeper) => return Ok(keeper),
            Taken::HeldBy(holder) => {
                if first
                    .as_ref()
                    .is_some_and(|first| first.identity != holder.identity || first.until != holder.until)
                {
                    return Err(held_by(cluster, &holder));
                }
                if first.is_none() {
                    printer
                        .story(&format!("waiting, half a minute at most, for a sign of life from {holder}"));
                }
                first = Some(holder);
                runtime.block_on(async {
                    while Lease::holder(connection, (&place.0, &place.1))
                        .await?
                        .map(|now| (now.identity, now.until))
                        == first.as_ref().map(|first| (first.identity.clone(), first.until))
                    {
                        tokio::time::sleep(LOOK_EVERY).await;
                    }
                    Ok::<_, Failure>(())
                })?;
            }
        }
    }
}

/// Another process works on it.
pub(super) fn held_by(cluster: &str, holder: &Holder) -> Failure {
    Failure {
        exit: Exit::Refused,
        ..Failure::usage_message(format!("the upgrade of {cluster} is carried out by {holder}"))
    }
    .next("to see how far it is: replank upgrade status; to have it stop after what is under way: Ctrl-C there; a process that is gone is forgotten half a minute later")
}

fn begun_meanwhile(cluster: &str) -> Failure {
    Failure {
        exit: Exit::Refused,
        ..Failure::usage_message(format!("another process has begun an upgrade of {cluster} meanwhile"))
    }
    .next("see how far it is: replank upgrade status")
}

/// Whether no upgrade of the cluster is recorded.
pub(super) async fn is_free(connection: &Connection, namespace: &str, cluster: &str) -> Result<(), Failure> {
    let found = super::record::all(connection, namespace).await?;
    let Some(known) = found.iter().find(|one| one.upgrade.cluster == cluster) else { return Ok(()) };
    Err(Failure {
        exit: Exit::Refused,
        ..Failure::usage_message(format!(
            "an upgrade of {cluster} to {} was begun at {} and is not over",
            known.upgrade.to,
            known.upgrade.begun.floor_seconds()
        ))
    }
    .next(format!("to go on with it: {RESUME}; to see how far it is: replank upgrade status; to end it: replank upgrade cancel")))
}

/// The cluster that is meant: the given name, or the one that the nodes tell.
pub(super) async fn meant(connection: &Connection, given: Option<&str>) -> Result<String, Failure> {
    let mut all = nodes(connection, None, 500).await?;
    for node in &mut all {
        (node["apiVersion"], node["kind"]) = ("v1".into(), "Node".into());
    }
    let view: View = all.into_iter().filter_map(|one| Object::from_json(one).ok()).map(Delta::Put).collect();
    let told = cluster_name(&view).map(|name| name.to_string());
    match (given, told) {
        (Some(given), Some(told)) if given != told => Err(Failure::usage_message(format!(
            "the nodes of context {:?} belong to cluster {told}, not to {given}",
            connection.context()
        ))
        .next(format!("pass --cluster {told}, or the context of {given}: --context NAME"))),
        (Some(given), _) => Ok(given.to_owned()),
        (None, Some(told)) => Ok(told),
        (None, None) => Err(Failure::usage_message("the nodes do not tell the cluster's name in EKS")
            .next("pass --cluster NAME: aws eks list-clusters")),
    }
}

/// Whether EKS offers the version at all.
fn is_offered(seen: &Seen, args: &UpgradeRunArgs) -> Result<(), Failure> {
    let to = args.to.to_string();
    if seen.offered.is_empty() || seen.offered.contains(&to) {
        return Ok(());
    }
    let mut known: Vec<Minor> = seen.offered.iter().filter_map(|version| Minor::of(version)).collect();
    known.sort();
    let known: Vec<String> = known.iter().map(ToString::to_string).collect();
    Err(Failure {
        exit: Exit::Refused,
        ..Failure::usage_message(format!("EKS does not offer {to}: it offers {}", known.join(", ")))
    }
    .next("pass one of these: --to VERSION; dates: replank upgrade calendar"))
}

/// Shows the plan: as data where text is told, otherwise as story.
fn shown(seen: &Seen, args: &UpgradeRunArgs, printer: &mut Printer) -> Result<(), Failure> {
    let text = show::plan(seen, printer.look());
    match args.place.output {
        Format::Text => printer.data(&text)?,
        Format::Json => printer.story(&text),
    }
    let hops =
        seen.planned.plan.steps.iter().filter(|step| matches!(step.what, What::ControlPlane(_))).count();
    if hops > 1 {
        printer.story(&format!(
            "EKS takes a control plane up by one minor version at a time: {}",
            count(hops, "step")
        ));
    }
    Ok(())
}

/// Why the upgrade is not begun; for a dry run, how it ends.
fn refused(seen: &Seen, args: &UpgradeRunArgs, printer: &mut Printer) -> Option<Exit> {
    let until = args.how.until_step.unwrap_or(usize::MAX);
    let until = if args.how.step { 1 } else { until };
    let findings = seen.planned.plan.findings().filter(|(index, _)| *index < until);
    let findings = findings.filter(|(index, finding)| !is_looked_at_later((seen, args), *index, finding));
    let exit = match findings.map(|(_, finding)| finding.severity).min() {
        Some(Severity::Blocking) => Exit::Blocked,
        Some(Severity::Warning) => Exit::Findings,
        Some(Severity::Info) | None => Exit::Passes,
    };
    let exit = coverage::end(&seen.planned.coverage, exit);
    match exit {
        Exit::Passes | Exit::Findings if args.dry_run => Some(exit),
        Exit::Passes | Exit::Findings => None,
        Exit::Internal
        | Exit::Usage
        | Exit::Blocked
        | Exit::Refused
        | Exit::Incomplete
        | Exit::Interrupted => {
            printer.warning("nothing was changed: an upgrade is begun only if nothing blocks a step of it (--until-step N carries out those before)");
            Some(exit)
        }
    }
}

/// What does not keep an upgrade from being begun, and is looked at once more before its step: another update that is in progress is followed or waited for, and an insight of
/// EKS may be about what an earlier step of the plan does.
fn is_looked_at_later((seen, args): (&Seen, &UpgradeRunArgs), index: usize, finding: &Finding) -> bool {
    let is_changed_before = seen.planned.plan.steps.iter().take(index).any(|step| match &step.what {
        What::Roll { .. } | What::LeftTo { .. } | What::KubeProxy { .. } | What::Addon { .. } => true,
        What::ControlPlane(_) | What::Bake { .. } => false,
    });
    (finding.rule == Rule::ClusterNotActive && seen.is_updating())
        || (finding.rule == Rule::Insight && (is_changed_before || args.how.ignore_insights))
}

/// Asks whether to begin, on a terminal; elsewhere the command says so.
pub(super) fn confirm(is_confirmed: bool, what: &str) -> Result<(), Failure> {
    if is_confirmed {
        return Ok(());
    }
    if !stdin().is_terminal() {
        return Err(Failure::usage_message("nobody can be asked whether the cluster is to be changed")
            .next("pass --yes where there is no terminal"));
    }
    let mut err = std::io::stderr();
    let asked = write!(err, "{what}? Only yes is taken for one: ").and_then(|()| err.flush());
    let mut answer = String::new();
    asked.and_then(|()| stdin().read_line(&mut answer)).map_err(Failure::internal)?;
    if answer.trim() == "yes" {
        return Ok(());
    }
    Err(Failure { exit: Exit::Refused, ..Failure::usage_message("not confirmed: nothing was changed") })
}

/// Whether nobody has pressed Ctrl-C meanwhile.
pub(super) fn confirmed(interrupt: &Interrupt) -> Result<(), Failure> {
    match interrupt.is_pressed() {
        true => Err(Failure {
            exit: Exit::Interrupted,
            ..Failure::usage_message("interrupted by Ctrl-C: nothing was changed")
        }),
        false => Ok(()),
    }
}
