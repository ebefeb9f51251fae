//! Reading: one object, a list, or a watch, from the read model alone.

mod components;
mod encode;
mod get;
pub mod json;
mod list;
mod options;
mod page;
pub mod proto;
mod rows;
mod shaped;
mod value;
mod watch;
mod written;

pub use components::{are_components, component, components, not_watched};
pub use encode::{Converted, Encode, Json};
pub use get::{get, get_at};
pub use list::{Listed, list};
pub use proto::Protobuf;
pub(crate) use shaped::{Shaped, ShapedWatch};
pub use value::{list_value, value};
pub use watch::{Showing, Shown, check_watch, watch};
