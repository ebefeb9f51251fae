//! A roll that is a step of something larger: an upgrade. It is begun, or gone on with, without asking anybody.

use replank_facts::plan::Plan;
use replank_live::{Connection, Lease};
use replank_model::text::{Namespace, RunId};
use replank_model::time::Span;
use replank_protocol::intent::Intent;
use replank_protocol::limits::run_named;

use super::args::{AwsArgs, BesidesArgs, CarryArgs, StartArgs, TellArgs};
use super::hold::{held_by, place};
use super::wanted::{carry, works};
use super::{records, start};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::live::{LiveArgs, runtime};
use crate::output::EventsFormat;
use crate::printer::Printer;
use crate::snapshot::ReadArgs;

/// Where, and how it is told.
pub(crate) struct Asked<'a> {
    pub(crate) live: &'a LiveArgs,
    pub(crate) read: &'a ReadArgs,
    pub(crate) aws: &'a AwsArgs,
    pub(crate) tolerance: Span,
    pub(crate) output: EventsFormat,
}

impl Asked<'_> {
    fn tell(&self) -> TellArgs {
        TellArgs { tolerance: self.tolerance, journal: None, output: self.output }
    }
}

/// Whether the run of a plan was begun and is not over.
///
/// # Errors
/// Where the records cannot be read.
pub(crate) fn is_begun(plan: &Plan, asked: &Asked<'_>) -> Result<bool, Failure> {
    let run = run_named(&plan.name);
    let (namespace, _) = place(plan, &run);
    let runtime = runtime()?;
    runtime.block_on(async {
        let connection = Connection::open(&asked.live.asked()).await?;
        Ok(!records::is_over(&connection, &namespace, &run).await?)
    })
}

/// Carries out the run of a plan until it is over, or this process is to leave it.
///
/// # Errors
/// Where it is not begun, another process carries it out, or the cluster is lost for long.
pub(crate) fn carry_out_plan(
    plan: Plan,
    asked: &Asked<'_>,
    printer: &mut Printer,
    interrupt: &Interrupt,
) -> Result<Exit, Failure> {
    let run = run_named(&plan.name);
    let (namespace, name) = place(&plan, &run);
    if !is_begun(&plan, asked)? {
        let args = StartArgs {
            plan: None,
            provider: None,
            yes: true,
            dry_run: false,
            // An upgrade rolls groups in place.
            make_group: false,
            tell: asked.tell(),
            besides: BesidesArgs::default(),
            live: asked.live.clone(),
            aws: asked.aws.clone(),
            read: asked.read.clone(),
        };
        return start::begin(&args, plan, printer, interrupt);
    }
    free(&run, (&namespace, &name), asked, printer)?;
    let args = CarryArgs {
        run: Some(run.to_string()),
        namespace: Namespace::from(namespace.as_str()),
        live: asked.live.clone(),
        aws: asked.aws.clone(),
        tell: asked.tell(),
        besides: BesidesArgs::default(),
    };
    carry(&args, Intent::Run, printer, interrupt)
}

/// Whether nobody carries it out: a process that was killed is waited for.
fn free(
    run: &RunId,
    (namespace, name): (&str, &str),
    asked: &Asked<'_>,
    printer: &mut Printer,
) -> Result<(), Failure> {
    let runtime = runtime()?;
    runtime.block_on(async {
        let connection = Connection::open(&asked.live.asked()).await?;
        let Some(holder) = Lease::holder(&connection, (namespace, name)).await? else { return Ok(()) };
        let place = (namespace.to_owned(), name.to_owned());
        match works(&connection, &place, holder, printer).await? {
            Some(holder) => Err(held_by(run, &holder)),
            None => Ok(()),
        }
    })
}
