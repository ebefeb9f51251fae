//! A served cluster, as clients meet it that do everything wrong, and as readers meet it that do not want to wait.

mod broken;
mod busy;
mod replay;
mod wire;
