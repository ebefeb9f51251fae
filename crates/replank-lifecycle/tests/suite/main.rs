//! What is found in manifests, and what is written instead.

mod cases;
mod definitions;
mod fix;
mod manifests;
mod public;
mod texts;
