//! `replank upgrade rollback`: a control plane goes back to the version before, where EKS takes it back.

use replank_advice::upgrade::minor::Minor;
use replank_live::Connection;
use replank_live::aws::Aws;

use super::args::{HowArgs, UpgradeRollbackArgs};
use super::begin::{Begun, begin, confirmed, is_free, meant};
use super::belongs::belongs;
use super::eyes::{Eyes, described};
use super::record::{Recorded, State, Todo, Upgrade};
use super::way_back::hindrances;
use crate::confirm::confirm;
use crate::drain::RbacVerb;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::live::{permitted, runtime};
use crate::printer::Printer;
use crate::report::words::span;
use crate::roll::account_asked;
use replank_advice::upgrade::plan::Options;

/// Rolls back.
///
/// # Errors
/// Where it is not begun, or the cluster or the account is lost.
pub(in crate::upgrade) fn rollback(
    args: &UpgradeRollbackArgs,
    printer: &mut Printer,
    interrupt: &Interrupt,
) -> Result<Exit, Failure> {
    let runtime = runtime()?;
    let namespace = args.place.namespace.as_str();
    let (connection, aws, cluster, described) = runtime.block_on(async {
        let connection = Connection::open(&args.place.live.asked()).await?;
        permitted(&connection, None, &RbacVerb::Roll.rules()).await?;
        permitted(&connection, Some(namespace), RbacVerb::Roll.of_namespace()).await?;
        let aws = Aws::open(&account_asked(&args.aws)).await?;
        let cluster = meant(&connection, args.cluster.as_deref()).await?;
        is_free(&connection, namespace, &cluster).await?;
        let described = described(&aws, &cluster).await?;
        belongs(&aws, &described["cluster"], &connection).await?;
        Ok::<_, Failure>((connection, aws, cluster, described))
    })?;
    let version = described["cluster"]["version"].as_str().unwrap_or_default();
    let from = Minor::of(version)
        .filter(|from| from.0 > 0)
        .ok_or_else(|| Failure::usage_message(format!("EKS says no version of {cluster}: {version:?}")))?;
    let to = Minor(from.0 - 1);
    let eyes = Eyes {
        runtime: &runtime,
        aws: &aws,
        cluster: &cluster,
        live: &args.place.live,
        read: &args.read,
        scan: &[],
        kubelets: std::collections::BTreeMap::new(),
        options: Options::to(from),
    };
    let seen = eyes.look(None, printer, interrupt)?;
    let hindrances = hindrances(&seen, to);
    if !hindrances.is_empty() {
        for (why, next) in hindrances {
            printer.failure(&Failure::usage_message(why).next(next));
        }
        printer.warning("nothing was changed");
        return Ok(Exit::Blocked);
    }
    if let Some(open) = &seen.planned.plan.way_back {
        printer.story(&format!(
            "EKS takes the control plane of {cluster} back from {from} to {to} for {} more; data, workloads, add-ons and node groups stay as they are",
            span(open.left)
        ));
    }
    if args.dry_run {
        return Ok(Exit::Passes);
    }
    confirm(args.yes, &format!("roll the control plane of {cluster} back to {to}"))?;
    confirmed(interrupt)?;
    let step = Recorded {
        title: format!("control plane {from} back to {to}"),
        what: Todo::ControlPlane { from: from.to_string(), to: to.to_string() },
        back: None,
        state: State::Open,
        begun: None,
        done: None,
        failed: 0,
        asked: 0,
        updates: Vec::new(),
    };
    let upgrade = Upgrade {
        cluster: cluster.clone(),
        account: aws.account().to_owned(),
        region: aws.region().to_owned(),
        from: from.to_string(),
        to: to.to_string(),
        begun: connection.now(),
        group_label: args.read.group_label.to_string(),
        route: None,
        scan: Vec::new(),
        kubelet: Vec::new(),
        conflicts: std::collections::BTreeMap::new(),
        steps: vec![step],
    };
    let begun = Begun { runtime: &runtime, connection: &connection, aws: &aws, eyes };
    begin(begun, upgrade, (&HowArgs::whole(), &args.place, &args.aws), printer, interrupt)
}
