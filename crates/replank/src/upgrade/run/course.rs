//! How an upgrade is carried out, from its first step that is open to its end, in words.

use replank_live::Connection;
use replank_live::aws::Aws;
use serde_json::json;

use super::args::{HowArgs, PlaceArgs};
use super::carry::{Carrying, Left};
use super::commits::commits;
use super::eyes::Eyes;
use super::ground::{Ground, RESUME};
use super::keeper::Keeper;
use super::record::Kept;
use super::teller::Teller;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::printer::Printer;
use crate::report::words::count;
use crate::roll::AwsArgs;

/// What an upgrade is carried out with.
pub(super) struct With<'w> {
    pub(super) runtime: &'w tokio::runtime::Runtime,
    pub(super) connection: &'w Connection,
    pub(super) aws: &'w Aws,
    pub(super) keeper: Keeper,
    pub(super) eyes: Eyes<'w>,
}

/// Carries it out, and says how it ends.
///
/// # Errors
/// Where the cluster or the account is lost.
pub(super) fn carry(
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
