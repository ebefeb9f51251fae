//! Nodes that misbehave.

use replank_sim::{ImageFault, ImageName};

/// Nodes that misbehave, and how.
pub type Trouble = (ImageName, ImageFault);
