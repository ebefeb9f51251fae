//! Messages, each read once.

use std::collections::BTreeMap;
use std::sync::Arc;

use replank_model::object::cloud::Message;
use replank_model::text::MessageId;

use super::body;
use super::body::Body;
use super::notice::Notice;
use super::options::Home;

/// See the module's page.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    /// What a message says of another account or region is not read any further.
    home: Option<Home>,
    pub(super) read: BTreeMap<MessageId, (Arc<Message>, Body)>,
}

impl Inbox {
    pub(super) fn of(home: Option<Home>) -> Self {
        Self { home, ..Self::default() }
    }

    pub(super) fn observe(&mut self, old: Option<&Message>, new: Option<&Arc<Message>>) {
        match (old, new) {
            (_, Some(new)) => {
                let known = self.read.remove(&new.id).filter(|(known, _)| known.body == new.body);
                let body =
                    known.map_or_else(|| body::read_at(&new.body, self.home.as_ref()), |(_, body)| body);
                self.read.insert(new.id.clone(), (new.clone(), body));
            }
            (Some(old), None) => {
                self.read.remove(&old.id);
            }
            (None, None) => {}
        }
    }

    /// What is said, in the order of the messages' ids.
    pub(super) fn notices(&self) -> impl Iterator<Item = (&Message, &Notice)> {
        self.read.values().filter_map(|(message, body)| match body {
            Body::Notice(notice) => Some((&**message, notice)),
            Body::Test | Body::Foreign { .. } | Body::Poison(_) => None,
        })
    }
}
