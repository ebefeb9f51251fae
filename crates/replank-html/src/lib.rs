//! Reports as HTML: pure functions from a rehearsal's JSON document, or from a journal, to one self-contained page.
//!
//! A page loads nothing from the network: styles and script are in it, and its Content-Security-Policy allows these two by their hashes and nothing else. Text
//! from a cluster reaches the page through [`markup`] alone, which escapes it; what is not escaped is part of the program.
//!
//! Layers, each knows only those below it: `rehearsed`, `compared`, `told` → `seeds`, `summary`, `findings`, `timeline`, `availability`, `tables` → `rows`, `chart` → `axis` → `page` →
//! `document`, `words` → `markup`.

mod availability;
mod axis;
mod batch;
mod chart;
mod compared;
mod document;
mod findings;
mod markup;
mod page;
mod rehearsed;
mod rows;
mod seeds;
mod summary;
mod tables;
mod timeline;
mod told;
mod words;

pub use compared::{Figure, Side, comparison, figures};
pub use document::{Document, ReadError, Rehearsal, read};
pub use rehearsed::{rehearsal, rehearsals};
pub use seeds::SeedRun;
pub use told::journal;
