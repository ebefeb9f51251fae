//! What is looked at before anything is received: the account, the queue, the cluster's nodes, the hooks that are named.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use replank_core::interrupt::{Home, Options};
use replank_facts::plan::Plan;
use replank_live::aws::{Aws, AwsQueue};
use replank_live::cloud::{Observed, OfNode};
use replank_live::{Connection, nodes};
use replank_model::delta::Delta;
use replank_model::object::Object;
use replank_model::text::{InstanceId, Text};
use replank_model::view::View;
use replank_protocol::record::NAMESPACE;

use super::args::HandleArgs;
use super::hold::{Ground, carry_out};
use super::scales::Scales;
use crate::drain::RbacVerb;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::live::{permitted, runtime};
use crate::printer::Printer;
use crate::rehearse::plan::from_file_provided;
use crate::roll::{account_asked, of_aws};

/// Nodes in one answer to a list.
const PAGE: u64 = 500;

/// Handles messages.
///
/// # Errors
/// Where it is not begun: something that is named is not there, or may not be done. Or where the cluster is lost for long.
pub(crate) fn run(args: &HandleArgs, printer: &mut Printer, interrupt: &Interrupt) -> Result<Exit, Failure> {
    let plan = args.plan.as_ref().map(|file| from_file_provided(file, false)).transpose()?;
    let scales = args.autoscale.as_deref().map(|flags| Scales::of(flags, printer)).transpose()?;
    let runtime = runtime()?;
    let (connection, aws, queue, behind) = runtime.block_on(async {
        let connection = Connection::open(&args.live.asked()).await?;
        let verb = RbacVerb::Handle;
        permitted(&connection, None, &if args.dry_run { verb.reads() } else { verb.rules() }).await?;
        if !args.dry_run {
            permitted(&connection, Some(args.namespace.as_str()), verb.of_namespace()).await?;
        }
        if scales.is_some() {
            permitted(&connection, None, &RbacVerb::Autoscale.rules()).await?;
            permitted(&connection, Some(NAMESPACE), RbacVerb::Autoscale.of_namespace()).await?;
        }
        let aws = Arc::new(Aws::open(&account_asked(&args.aws)).await?);
        let queue = AwsQueue::open(aws.clone(), &args.queue_url).await?;
        let nodes = of_cluster(&connection).await?;
        aws.follow_nodes();
        let behind = aws.behind(&nodes).await?;
        Ok::<_, Failure>((connection, aws, queue, behind))
    })?;
    let options = options(args, plan.as_ref(), &aws);
    have_hooks(&options, &behind, printer)?;
    printer.story(&format!(
        "AWS account {} in {}: {} of the cluster's nodes; queue {}",
        aws.account(),
        aws.region(),
        crate::report::words::count(behind.groups.len(), "Auto Scaling group"),
        args.queue_url
    ));
    if !queue.has_dead_letters() {
        printer.warning(
            "the queue has no dead-letter queue: messages that cannot be read come again until they expire; `replank setup aws` prints a queue that has one",
        );
    }
    let queue = if args.dry_run { queue.looking() } else { queue };
    let ground = Ground { connection: &connection, aws, queue: Arc::new(queue), options, scales };
    carry_out(&runtime, &ground, args, (printer, interrupt))
}

fn options(args: &HandleArgs, plan: Option<&Plan>, aws: &Aws) -> Options {
    let mut options = Options::beside(plan);
    options.hooks.named.extend(args.hook.iter().map(|hook| Text::from(&**hook)));
    options.patience = args.patience;
    options.home = Some(Home { account: Text::from(aws.account()), region: Text::from(aws.region()) });
    options
}

/// The cluster's nodes that are instances of AWS.
async fn of_cluster(connection: &Connection) -> Result<BTreeMap<InstanceId, OfNode>, Failure> {
    let listed = nodes(connection, None, PAGE).await?;
    let all = listed.len();
    let objects = listed.into_iter().filter_map(|mut one| {
        one["apiVersion"] = "v1".into();
        one["kind"] = "Node".into();
        Object::from_json(one).ok()
    });
    let view: View = objects.map(Delta::Put).collect();
    let nodes = of_aws(&view);
    if nodes.is_empty() && all > 0 {
        return Err(Failure::usage_message(format!(
            "no node of context {:?} is an EC2 instance in a group: {all} nodes, none with a providerID that begins with aws://",
            connection.context()
        ))
        .next("check the context: kubectl get nodes -o custom-columns=NAME:.metadata.name,ID:.spec.providerID"));
    }
    Ok(nodes)
}

/// Whether each hook that is named is one of the groups'. EKS's own are never completed by anybody else.
fn have_hooks(options: &Options, behind: &Observed, printer: &mut Printer) -> Result<(), Failure> {
    let known: BTreeSet<&Text> =
        behind.groups.iter().flat_map(|group| group.hooks.iter().map(|hook| &hook.name)).collect();
    let unknown: Vec<&str> =
        options.hooks.named.iter().filter(|name| !known.contains(name)).map(|name| &**name).collect();
    if unknown.is_empty() {
        return Ok(());
    }
    if behind.groups.is_empty() {
        printer.warning(&format!(
            "no Auto Scaling group is behind the cluster's nodes: whether there are hooks named {} is not known",
            unknown.join(", ")
        ));
        return Ok(());
    }
    let known: Vec<&str> = known.into_iter().map(|name| &**name).collect();
    let there = if known.is_empty() {
        "they have none".to_owned()
    } else {
        format!("they have: {}", known.join(", "))
    };
    Err(Failure::usage_message(format!(
        "no Auto Scaling group behind the cluster's nodes has a lifecycle hook named {}; {there}",
        unknown.join(" or ")
    ))
    .next("name one that there is (--hook NAME), or make one: replank setup aws --cluster NAME prints it"))
}
