//! AWS behind node groups: self-managed Auto Scaling groups, and managed node groups of EKS.
//!
//! ```text
//! let aws = Aws::open(&asked).await?;                // region, credentials, account
//! let answers = aws.answers(&instances, &names).await?;   // as the CLI prints them: for a rehearsal
//! aws.follow(groups);                                // as the rehearsal has them: what nodes are expected to be
//! ```
//!
//! From then on it is a [`Cloud`] that the driver looks at every few seconds. Facts are polled completely or not at all: a page that is missing deletes nothing.

mod account;
mod act;
mod answer;
mod balanced;
mod changeable;
mod client;
mod creation;
mod credentials;
mod discover;
mod discovery;
mod eks;
mod ended;
mod error;
mod facts;
mod failures;
mod found;
mod fresh;
mod group;
mod held;
mod machine;
mod managed;
mod partition;
mod place;
mod processes;
mod profile;
mod protection;
mod queue;
mod recent;
mod scaled;
mod service;
mod sign;
#[cfg(test)]
mod stand_in;
mod statement;
mod targets;
mod template;
mod types;
mod versions;
mod wire;
mod xml;

use std::collections::BTreeMap;

use replank_model::object::cloud::InstanceState;
use replank_model::text::InstanceId;
use replank_protocol::command::GroupEffect;
use replank_protocol::outcome::Answer;

use error::said;

use crate::cloud::{Cloud, Observed, OfNode, Order, Pending};

pub use account::Aws;
pub use creation::{Asked as NodegroupAsked, Stage as NodegroupStage};
pub use eks::{EksError, EksUpdate, Progress, UpdateOf, Write, request_token};
pub use error::AwsError;
pub use place::AwsAsked;
pub use queue::AwsQueue;
pub use scaled::Tag;
pub use statement::{
    AUTO_SCALING, AUTOSCALE, AUTOSCALE_READS, HANDLE, HANDLE_READS, LAUNCHES, MAKE_GROUP, MAKES, MANAGED,
    QUEUE, READS, TO_EKS, UPGRADE, UPGRADE_READS, allowed, statement,
};

impl Cloud for Aws {
    fn observe<'a>(
        &'a self,
        nodes: &'a BTreeMap<InstanceId, OfNode>,
    ) -> Pending<'a, Result<Observed, String>> {
        Box::pin(async move { self.observed(nodes).await.map_err(|error| said(&error)) })
    }

    fn act<'a>(&'a self, effect: &'a GroupEffect, order: Order<'a>) -> Pending<'a, Answer> {
        Box::pin(self.carry(effect, order))
    }

    fn state<'a>(&'a self, instance: &'a InstanceId) -> Pending<'a, Result<Option<InstanceState>, String>> {
        Box::pin(async move {
            let found = self.machines(&[instance]).await.map_err(|error| said(&error))?;
            Ok(found.get(instance).and_then(|machine| machine.state))
        })
    }
}

#[cfg(test)]
#[path = "elsewhere_tests.rs"]
mod elsewhere;
