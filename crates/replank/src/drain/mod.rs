//! `replank cordon`, `uncordon`, `drain` and `rbac`: what kubectl does with these words on a live cluster, and what goes beyond it.

mod args;
mod bound;
pub(crate) mod eta;
mod rehearse;
pub(crate) mod remedy;
mod rules;
mod run;
mod said;
mod screen;
mod select;
mod watch;

use clap::Args;
use replank_core::drain::Verb;
use replank_model::text::Namespace;

pub(crate) use args::{CordonArgs, DrainArgs};
pub(crate) use rules::RbacVerb;
use run::Asked;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::printer::Printer;

/// Marks nodes as unschedulable.
///
/// # Errors
/// See [`run::run`].
pub(crate) fn cordon(
    args: &CordonArgs,
    printer: &mut Printer,
    interrupt: &Interrupt,
) -> Result<Exit, Failure> {
    run::run(&Asked { verb: Verb::Cordon, nodes: &args.nodes, drain: None }, printer, interrupt)
}

/// Marks nodes as schedulable.
///
/// # Errors
/// See [`run::run`].
pub(crate) fn uncordon(
    args: &CordonArgs,
    printer: &mut Printer,
    interrupt: &Interrupt,
) -> Result<Exit, Failure> {
    run::run(&Asked { verb: Verb::Uncordon, nodes: &args.nodes, drain: None }, printer, interrupt)
}

/// Drains nodes.
///
/// # Errors
/// See [`run::run`].
pub(crate) fn drain(args: &DrainArgs, printer: &mut Printer, interrupt: &Interrupt) -> Result<Exit, Failure> {
    run::run(&Asked { verb: Verb::Drain, nodes: &args.nodes, drain: Some(args) }, printer, interrupt)
}

/// Arguments of `rbac`.
#[derive(Args, Debug)]
pub(crate) struct RbacArgs {
    /// What the role allows.
    #[arg(value_enum, value_name = "VERB")]
    verb: RbacVerb,

    /// Namespace of the Role: of the record of a roll (kube-system by default), of the object that is migrated (default by default), or of the priorities that autoscale reads.
    #[arg(short = 'n', long, value_name = "NAMESPACE")]
    namespace: Option<Namespace>,

    /// Also prints what binds the roles to somebody, and a flow schema with a priority level of its own: what Replank asks does not wait behind others, and keeps none waiting.
    #[arg(long = "for", value_name = "User:NAME|Group:NAME|ServiceAccount:NAMESPACE/NAME")]
    who: Option<bound::Who>,
}

/// Prints the ClusterRole of a verb, and its Role where it needs one.
///
/// # Errors
/// Where it cannot be written.
pub(crate) fn rbac(args: &RbacArgs, printer: &mut Printer) -> Result<Exit, Failure> {
    let namespace = args.namespace.as_ref().map(Namespace::as_str);
    if namespace.is_some() && args.verb.of_namespace().is_empty() {
        return Err(Failure::usage_message("-n names the namespace of a Role, and this verb needs none")
            .next("leave -n out"));
    }
    let mut text = args.verb.manifest(namespace);
    if let Some(who) = &args.who {
        let namespaces: Vec<&str> = args.verb.roles(namespace).into_iter().map(|(name, _)| name).collect();
        text += &bound::manifest(args.verb, &namespaces, who);
    }
    printer.data(&text)?;
    Ok(Exit::Passes)
}
