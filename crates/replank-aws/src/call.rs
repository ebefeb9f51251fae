//! A call and its answer, without the wire.

use serde_json::Value;

use crate::caller::Caller;
use crate::fault::Fault;
use crate::service::Service;

/// What somebody asks.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// Of which service.
    pub service: Service,
    /// The operation, such as `DescribeAutoScalingGroups`.
    pub action: String,
    /// Its members: with texts as leaves where it came by a query.
    pub input: Value,
    /// Who asks it.
    pub caller: Caller,
    /// Whether it was asked before, and waits for its answer since.
    pub is_again: bool,
}

impl Call {
    /// Whether it changes nothing. A receive of messages does.
    #[must_use]
    pub fn is_read(&self) -> bool {
        ["Describe", "List", "Get"].iter().any(|word| self.action.starts_with(word))
    }
}

/// What comes of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Answered {
    /// It is answered.
    With(Reply),
    /// The connection ends without an answer.
    Lost,
}

/// The members of the answer, by the names they have on the wire.
pub type Reply = Result<Value, Fault>;

/// A member of an answer that says: nothing yet, ask again, for so many seconds.
pub(crate) const WAIT: &str = "replank:wait";

/// A member of an answer that says: credentials belong here, of this role, with this session's name, for so many seconds.
pub(crate) const ASSUMED: &str = "replank:assumed";

/// The operation by which a pod gets its role: the agent's, who asks for it (EKS Auth).
pub(crate) const FOR_POD: &str = "AssumeRoleForPodIdentity";
