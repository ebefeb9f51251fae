//! What readers see of the world: a consistent picture behind an atomic pointer, and the latest changes of each resource.
//!
//! The owner of the world publishes every change here before it answers whoever made it. Readers never wait for the world, and it never waits for them.

mod event;
mod key;
mod marks;
mod publisher;
mod readers;
mod ring;
mod snapshot;
mod storage;
mod stored;

pub use event::{Event, Happening};
pub use key::ListKey;
pub use publisher::Publisher;
pub use readers::Mirror;
pub use ring::{Behind, Ring};
pub use snapshot::{Collection, Snapshot, undone};
pub use storage::StorageId;
pub use stored::{Form, FormKind, Stored};
