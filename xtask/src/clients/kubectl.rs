//! kubectl: the one of the control plane's archive. `peers/kubectl` has its sessions.

use anyhow::Result;

use super::build::sessions;
use super::task::Task;
use crate::judged::assets;

pub(super) fn tasks() -> Result<Vec<Task>> {
    sessions("kubectl", &[assets()?.folder().to_owned()])
}
