//! Groups that are scaled by the process that handles messages: both are decided together, by the same budgets, room and sizes.

use std::time::Duration;

use replank_core::scale::{Expander, Options};
use replank_live::aws::Aws;
use replank_live::{Attempt, Connection, Holder, Lease};
use replank_model::view::View;
use replank_protocol::record::NAMESPACE;
use tokio::runtime::Runtime;
use tokio::time::Instant;

use crate::autoscale::{LEASE, Scaled, Seen, nobody_else, scaled, seen};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::live::{LiveArgs, pressed};
use crate::printer::Printer;
use crate::report::words::count;
use crate::roll::identity;
use crate::scale::{input, words};

/// How long the Lease of whoever scales is waited for: one that is gone is forgotten half a minute later, and meanwhile nobody handles messages.
const PATIENCE: Duration = Duration::from_secs(45);
/// How often it is looked whether it is free.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// What the command line says of the groups.
pub(super) struct Scales {
    flags: Vec<String>,
    options: Options,
}

impl Scales {
    /// Reads the flags: their mistakes are found in no time.
    ///
    /// # Errors
    /// Where one cannot be read.
    pub(super) fn of(flags: &str, printer: &mut Printer) -> Result<Self, Failure> {
        let flags = words("--autoscale", flags)?;
        let options = input::settings(&flags, &View::default(), printer)?.options;
        input::prices(None, &options)?;
        Ok(Self { flags, options })
    }

    /// The groups, as they are now: they are followed from then on, beside those of the cluster's nodes.
    ///
    /// # Errors
    /// Where the cluster or the account cannot be read, somebody else scales, or the account does not have what is named.
    pub(super) fn look(
        &self,
        (runtime, connection, aws): (&Runtime, &Connection, &Aws),
        live: &LiveArgs,
        printer: &mut Printer,
    ) -> Result<Scaled, Failure> {
        let with_priorities = self.options.expanders.contains(&Expander::Priority);
        let Seen { view, .. } = seen(live, with_priorities.then_some(NAMESPACE), printer)?;
        runtime.block_on(nobody_else(connection, &view))?;
        let found = scaled((runtime, aws), &view, (&self.flags, None), printer)?;
        printer.story(&format!(
            "{} scaled besides; {}",
            count(found.groups.all.len(), "group"),
            found.origin
        ));
        aws.follow_sizes_besides(found.bases.clone());
        Ok(found)
    }
}

/// Waits for the Lease of whoever scales, for as long as one that is gone may hold it. `None` after Ctrl-C; with it, whether that took time.
///
/// # Errors
/// Where another process scales the cluster.
pub(super) async fn taken(
    connection: &Connection,
    printer: &mut Printer,
    interrupt: &Interrupt,
) -> Result<Option<Box<Lease>>, Failure> {
    let (began, mut is_told) = (Instant::now(), false);
    loop {
        let holder = match Lease::take(connection, (NAMESPACE, LEASE), &identity()).await? {
            Attempt::Taken(lease) => return Ok(Some(lease)),
            Attempt::HeldBy(holder) => holder,
        };
        if began.elapsed() > PATIENCE {
            return Err(by_another(&holder));
        }
        if !is_told {
            is_told = true;
            printer.story(&format!(
                "the cluster is scaled by {holder}; this process goes on when that one ends"
            ));
        }
        tokio::select! {
            () = pressed(interrupt) => return Ok(None),
            () = tokio::time::sleep(LOOK_EVERY) => {}
        }
    }
}

fn by_another(holder: &Holder) -> Failure {
    let said = Failure::usage_message(format!("--autoscale: the cluster is scaled by {holder}"));
    Failure { exit: Exit::Refused, ..said }
        .next("end that process; or leave --autoscale out: nodes that it is removing are left to it")
}
