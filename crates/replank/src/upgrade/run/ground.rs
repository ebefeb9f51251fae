//! What every step stands on, and how an update of EKS is followed.

use std::time::Duration;

use replank_live::Connection;
use replank_live::aws::{Aws, AwsError, EksUpdate, Progress, UpdateOf, Write};
use replank_model::time::Time;
use serde_json::json;

use super::codes;
use super::keeper::Keeper;
use super::record::{Kept, State};
use super::teller::Teller;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::patience::patiently;

/// How often an update is looked at: soon in the beginning, then more and more rarely.
const LOOK_FIRST: Duration = Duration::from_secs(1);
const LOOK_LAST: Duration = Duration::from_secs(10);

/// See the module's page.
pub(super) struct Ground<'g> {
    pub(super) aws: &'g Aws,
    pub(super) connection: &'g Connection,
    pub(super) keeper: &'g Keeper,
    pub(super) teller: Teller,
    pub(super) cluster: &'g str,
    /// Whether errors of insights are to be ignored by EKS, too.
    pub(super) is_forced: bool,
}

/// What came of a step.
#[derive(Debug)]
pub(super) enum Came {
    /// It is done.
    Done,
    /// The upgrade stops here, and can be gone on with.
    Stopped(Stop),
}

/// Why an upgrade stops.
#[derive(Debug)]
pub(super) struct Stop {
    pub(super) exit: Exit,
    pub(super) why: String,
    pub(super) next: String,
}

impl Stop {
    /// Something stands in the way.
    pub(super) fn blocked(why: impl Into<String>, next: impl Into<String>) -> Came {
        Came::Stopped(Self { exit: Exit::Blocked, why: why.into(), next: next.into() })
    }
}

/// How to go on.
pub(super) const RESUME: &str = "replank upgrade resume";

impl Ground<'_> {
    pub(super) fn now(&self) -> Time {
        self.connection.now()
    }

    /// Tells something of a step.
    pub(super) fn say(&self, index: usize, text: &str) {
        let event = json!({"event": "progress", "step": index + 1});
        self.teller.say(self.now(), &format!("      {text}"), event);
    }

    /// Writes down that a step is begun.
    pub(super) async fn begin(&self, kept: &mut Kept, index: usize) -> Result<(), Failure> {
        let now = self.now();
        let Some(step) = kept.upgrade.steps.get_mut(index) else { return Ok(()) };
        if step.state == State::Open {
            step.state = State::Begun;
            step.begun = step.begun.or(Some(now));
            kept.write(self.connection).await?;
        }
        Ok(())
    }

    /// Writes down the id of an update.
    pub(super) async fn follow_id(&self, kept: &mut Kept, index: usize, id: &str) -> Result<(), Failure> {
        let Some(step) = kept.upgrade.steps.get_mut(index) else { return Ok(()) };
        if step.updates.iter().any(|known| known == id) {
            return Ok(());
        }
        step.updates.push(id.to_owned());
        kept.write(self.connection).await
    }

    /// Whether an update that is in progress was asked for by this upgrade: it is written down, or began after its step did.
    pub(super) fn is_ours(&self, kept: &Kept, index: usize, update: &EksUpdate) -> bool {
        let Some(step) = kept.upgrade.steps.get(index) else { return false };
        let is_later =
            step.begun.zip(update.created).is_some_and(|(begun, created)| created >= begun.floor_seconds());
        step.updates.contains(&update.id) || is_later
    }

    /// Follows an update to its end. One that fails is written down: the next request is another one.
    pub(super) async fn follow(
        &self,
        kept: &mut Kept,
        index: usize,
        (about, update): (UpdateOf<'_>, EksUpdate),
    ) -> Result<Came, Failure> {
        self.follow_id(kept, index, &update.id).await?;
        let addon = match about {
            UpdateOf::Addon(name) => Some(name),
            UpdateOf::Cluster | UpdateOf::Nodegroup(_) => None,
        };
        let (mut update, mut pause) = (update, LOOK_FIRST);
        while update.progress == Progress::InProgress {
            tokio::time::sleep(pause).await;
            pause = (pause + pause / 2).min(LOOK_LAST);
            let id = update.id.clone();
            update = patiently(async || Ok(self.aws.update(self.cluster, &id, about).await?)).await?;
        }
        let word = match update.progress {
            Progress::InProgress | Progress::Successful => return Ok(Came::Done),
            Progress::Failed => "has failed",
            Progress::Cancelled => "was cancelled",
        };
        self.failed(kept, index).await?;
        let why = codes::told(&update, self.cluster, addon);
        Ok(Stop::blocked(
            format!("EKS update {} {word}: {why}", update.id),
            format!("once that is cleared: {RESUME} asks for it again"),
        ))
    }

    /// Writes down that what was asked for has not come about: the next request is another one.
    pub(super) async fn failed(&self, kept: &mut Kept, index: usize) -> Result<(), Failure> {
        if let Some(step) = kept.upgrade.steps.get_mut(index) {
            step.failed += 1;
            step.state = State::Open;
        }
        kept.write(self.connection).await
    }

    /// A write of EKS, as long as the Lease is held.
    pub(super) fn is_in_time(&self) -> bool {
        self.keeper.holds()
    }

    /// Asks EKS for something, and tells a refusal apart from a failure of the way.
    pub(super) async fn ask<F>(
        &self,
        kept: &mut Kept,
        (index, part): (usize, &str),
        call: impl FnOnce(String) -> F,
    ) -> Result<Asked, Failure>
    where
        F: Future<Output = Result<EksUpdate, AwsError>>,
    {
        // Written each time: where the record is gone or somebody else's by now, nothing is asked for.
        let now = self.now();
        if let Some(step) = kept.upgrade.steps.get_mut(index) {
            step.state = State::Begun;
            step.begun = step.begun.or(Some(now));
            step.asked += 1;
        }
        kept.write(self.connection).await?;
        let token = kept.upgrade.token(&kept.uid, index, part);
        match call(token).await {
            Ok(update) => Ok(Asked::Begun(update)),
            Err(AwsError::Refused { code, .. }) if code == "ResourceInUseException" => Ok(Asked::Busy),
            Err(AwsError::Refused { action, code, message, status }) if (400..500).contains(&status) => {
                Ok(Asked::Refused(format!("{action}: {code}: {message}")))
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// What EKS has said to a request.
pub(super) enum Asked {
    /// It does it.
    Begun(EksUpdate),
    /// Another update is in progress.
    Busy,
    /// No, and why.
    Refused(String),
}

/// A write with a token.
pub(super) fn write<'w>(token: &'w str, is_in_time: &'w (dyn Fn() -> bool + Sync)) -> Write<'w> {
    Write { token, is_in_time }
}
