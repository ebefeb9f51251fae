//! An upgrade is planned, shown, asked about and begun.

use std::collections::BTreeMap;

use replank_advice::upgrade::minor::Minor;
use replank_advice::upgrade::plan::{ADDON, BAKE, HOP, Options};
use replank_facts::cluster_name::ClusterName;
use replank_live::aws::Aws;
use replank_live::{Connection, nodes};
use replank_model::delta::Delta;
use replank_model::object::Object;
use replank_model::view::View;

use super::args::{HowArgs, PlaceArgs, UpgradeRunArgs};
use super::belongs::belongs;
use super::course::{With, carry};
use super::eyes::Eyes;
use super::ground::RESUME;
use super::keeper::{Keeper, Taken};
use super::offer::{is_offered, refused, shown};
use super::record::{Kept, Upgrade, place_of};
use crate::confirm::confirm;
use crate::drain::RbacVerb;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::live::{permitted, runtime};
use crate::printer::Printer;
use crate::report::words::count;
use crate::roll::{AwsArgs, account_asked, identity};
use crate::upgrade::plan::input::kubelets;
use crate::upgrade::values::RouteWord;

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
    seen.unhealthy_groups.iter().for_each(|why| printer.warning(why));
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
    let told = ClusterName::of(&view).and_then(|name| name.in_eks().map(ToString::to_string));
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
