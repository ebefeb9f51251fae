//! What can go wrong: with which calls, how, and how often.

use replank_model::time::Span;
use serde::{Deserialize, Serialize};

use crate::call::Call;

/// Something that is made to go wrong, or is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// Some calls go wrong.
    Calls(OfCalls),
    /// Whether the credentials are over.
    Expired(bool),
    /// EC2 does not show an instance for so long after its launch.
    Unseen(Span),
    /// One message in so many comes twice; none for 0.
    Twice(u32),
    /// One in so many comes so much later; none for 0.
    Late(u32, Span),
}

/// Which calls go wrong, and how.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfCalls {
    pub(crate) how: How,
    pub(crate) of: Which,
    pub(crate) share: Share,
}

/// How a call goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum How {
    /// It is refused for its rate.
    Throttled,
    /// The service says that it failed, and did nothing.
    Failed,
    /// It is carried out, and the connection ends without an answer.
    AnswerLost,
    /// The connection ends before it is carried out.
    RequestLost,
}

/// Which calls are meant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Which {
    Any,
    Reads,
    Writes,
    /// All of a service, by the name that it is signed for.
    Of(String),
    /// One operation, as IAM names it.
    Action(String),
}

/// How many of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Share {
    /// One in so many, by chance; none for 0.
    OneIn(u32),
    /// So many that come next.
    Next(u32),
}

impl Which {
    /// Whether a call is meant.
    pub(super) fn means(&self, call: &Call) -> bool {
        match self {
            Self::Any => true,
            Self::Reads => call.is_read(),
            Self::Writes => !call.is_read(),
            Self::Of(service) => *service == call.service.signing_name(),
            Self::Action(action) => *action == format!("{}:{}", call.service.signing_name(), call.action),
        }
    }
}
