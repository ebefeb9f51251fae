//! What is looked at before anything is scaled: rights, other autoscalers, the account, the groups.

use std::sync::Arc;

use replank_core::scale::{CONFIG_MAP, Expander};
use replank_facts::coverage::{Coverage, Question};
use replank_intake::source::Source;
use replank_live::Connection;
use replank_live::aws::Aws;
use replank_model::time::Time;
use replank_model::view::View;
use replank_protocol::record::NAMESPACE;
use replank_rehearse::count_budgets;
use tokio::runtime::Runtime;

use super::args::AutoscaleArgs;
use super::hold::{Ground, Held, Left, Waited};
use super::look::look;
use super::others::nobody_else;
use super::scene::{Scaled, scaled};
use crate::drain::RbacVerb;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::live::{self, LiveArgs, permitted, runtime};
use crate::printer::Printer;
use crate::report::words::count;
use crate::roll::account_asked;
use crate::scale::input;
use crate::snapshot::{self, ReadArgs};

/// A live cluster, as it was read.
pub(crate) struct Seen {
    pub(super) name: String,
    pub(crate) view: View,
    pub(super) now: Time,
    pub(super) coverage: Coverage,
}

/// Scales a cluster.
///
/// # Errors
/// Where it is not begun: something that is named is not there, or may not be done, or somebody else does it. Or where the cluster is lost for long.
pub(crate) fn run(
    args: &AutoscaleArgs,
    printer: &mut Printer,
    interrupt: &Interrupt,
) -> Result<Exit, Failure> {
    // Flags first: their mistakes are found in no time.
    let flags = input::settings(&args.flags.0, &View::default(), printer)?.options;
    input::prices(args.prices.as_deref(), &flags)?;
    let with_priorities = flags.expanders.contains(&Expander::Priority);
    let runtime = runtime()?;
    let (connection, aws) = runtime.block_on(async {
        let connection = Connection::open(&args.live.asked()).await?;
        let verb = RbacVerb::Autoscale;
        permitted(&connection, None, &if args.dry_run { verb.reads() } else { verb.rules() }).await?;
        if !args.dry_run {
            permitted(&connection, Some(NAMESPACE), verb.of_namespace()).await?;
        }
        if with_priorities {
            permitted(&connection, Some(args.namespace.as_str()), verb.of_named()).await?;
        }
        let aws = Arc::new(Aws::open(&account_asked(&args.aws)).await?);
        Ok::<_, Failure>((connection, aws))
    })?;
    let ground = Ground { connection: &connection, aws: aws.clone(), args };
    let mut held = None;
    loop {
        let priorities = with_priorities.then(|| args.namespace.as_str());
        let seen = match seen(&args.live, priorities, printer) {
            Ok(seen) => seen,
            Err(failure) => return left(failure, held, &runtime),
        };
        let other = runtime.block_on(nobody_else(&connection, &seen.view));
        match other {
            Ok(()) => {}
            Err(other) if args.dry_run => printer.warning(&other.error.to_string()),
            Err(other) => return left(other, held, &runtime),
        }
        let prices = args.prices.as_deref();
        let found = match scaled((&runtime, &aws), &seen.view, (&args.flags.0, prices), printer) {
            Ok(found) => found,
            Err(failure) => return left(failure, held, &runtime),
        };
        if args.dry_run {
            return look(found, (seen.name, seen.now, seen.coverage), args.output, printer);
        }
        let mut own = match held.take() {
            Some(own) => own,
            None => match Held::begin(&runtime, &ground, printer, interrupt)? {
                Some((own, Waited::No)) => own,
                // Groups, flags and other autoscalers may be others by now.
                Some((own, Waited::Yes)) => {
                    held = Some(own);
                    continue;
                }
                None => return Ok(Exit::Interrupted),
            },
        };
        tell(&found, &aws, printer);
        match own.carry_out(&runtime, &ground, found, interrupt) {
            Ok(Left::Changed) => {
                printer.story("the groups that are to be scaled are others: everything is read anew");
                held = Some(own);
            }
            ended => return own.finish(&runtime, ended, &connection, printer),
        }
    }
}

/// An end before anything is scaled, or between.
fn left(failure: Failure, held: Option<Held>, runtime: &Runtime) -> Result<Exit, Failure> {
    if let Some(held) = held {
        held.give_up(runtime);
    }
    Err(failure)
}

/// Reads a live cluster, with the ConfigMap of priorities in a namespace where one is named.
///
/// # Errors
/// Where it cannot be read.
pub(crate) fn seen(
    live: &LiveArgs,
    priorities: Option<&str>,
    printer: &mut Printer,
) -> Result<Seen, Failure> {
    let read = ReadArgs {
        group_label: replank_model::object::node::LABEL_EKS_NODEGROUP.into(),
        allow_incomplete: Vec::new(),
        strict: false,
    };
    let maps = priorities.map(|namespace| (namespace.to_owned(), CONFIG_MAP.to_owned()));
    let live::Read { name, bytes, .. } = live::read_with(live, maps.into_iter().collect(), printer)?;
    let sources = vec![Source::bytes(name.as_str(), bytes)];
    let mut cluster = snapshot::read_at(sources, &read, None, Question::Scaling, printer)?;
    count_budgets(&mut cluster.view, cluster.now);
    Ok(Seen { name, view: cluster.view, now: cluster.now, coverage: cluster.coverage })
}

fn tell(scaled: &Scaled, aws: &Aws, printer: &mut Printer) {
    printer.story(&format!(
        "AWS account {} in {}: {} to scale; {}",
        aws.account(),
        aws.region(),
        count(scaled.groups.all.len(), "group"),
        scaled.origin
    ));
    for group in &scaled.groups.all {
        let types: Vec<&str> = group.types.iter().map(|name| &**name).collect();
        printer.story(&format!("  {}: {} ({})", group.name, group.size, types.join(", ")));
    }
}
