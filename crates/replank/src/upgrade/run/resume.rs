//! An upgrade that was begun is gone on with.

use replank_advice::upgrade::minor::Minor;
use replank_advice::upgrade::plan::Options;
use replank_live::aws::Aws;
use replank_live::{Connection, Holder};
use replank_model::text::Text;
use replank_model::time::Span;

use super::args::UpgradeResumeArgs;
use super::belongs::belongs;
use super::course::{With, carry};
use super::eyes::{Eyes, described};
use super::ground::RESUME;
use super::keeper::{Keeper, Taken};
use super::record::{Upgrade, one, place_of};
use crate::drain::RbacVerb;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::live::{permitted, runtime};
use crate::printer::Printer;
use crate::roll::{account_asked, identity, works};
use crate::snapshot::ReadArgs;
use crate::upgrade::plan::input::kubelets;
use crate::upgrade::values::RouteWord;

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

/// Takes the Lease; one of a process that was killed is waited for.
fn taken(
    runtime: &tokio::runtime::Runtime,
    connection: &Connection,
    (asked, place, cluster): (replank_live::Asked, &(String, String), &str),
    printer: &mut Printer,
) -> Result<Keeper, Failure> {
    loop {
        let holder = match Keeper::take(asked.clone(), place.clone(), identity())? {
            Taken::Ours(keeper) => return Ok(keeper),
            Taken::HeldBy(holder) => holder,
        };
        if let Some(holder) = runtime.block_on(works(connection, place, holder, printer))? {
            return Err(held_by(cluster, &holder));
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
