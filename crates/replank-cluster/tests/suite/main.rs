//! A served cluster, as clients meet it that do everything wrong, and as readers meet it that do not want to wait.

mod ask;
mod broken;
mod busy;
mod certificates;
mod fairness;
mod pages;
mod parts;
mod replay;
mod security;
mod tables;
mod webhooks;
mod wire;
