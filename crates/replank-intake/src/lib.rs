//! Reads what users have: files, directories, standard input; YAML and JSON, in gzip too; into JSON documents and
//! from there into a cluster's objects.
//!
//! ```text
//! paths, stdin ──► source ──► open ──────► window ──► json │ yaml ──► document ──► check ──► snapshot
//!  what was named  which     gzip, UTF-16  text, a    where a value  Found:        is it an  objects, each
//!                  files     to text       part of it ends, and its  Document or   object?   once, sorted;
//!                                          at a time  tree           Problem                 now; summary
//! ```
//!
//! [`snapshot::Snapshot::load`] does it all: objects (each once, in an order that does not depend on the input's),
//! the snapshot's moment ([`now`]), what was read in numbers, and what was wrong.
//!
//! [`read::read`] is the part of it that knows nothing of Kubernetes but lists. It takes [`source::Source`]s and hands on every document, and every item of a list as one, as a
//! [`document::Document`]: any JSON value with the place it came from. Everything in it is kept; unknown kinds and
//! fields are not this crate's business.
//!
//! **Nothing hides its neighbours.** What cannot be read becomes a [`problem::Problem`] (where, what was expected
//! and found, what is missing because of it, what to do next), and reading goes on: behind the next marker
//! after broken YAML; at the next line that begins like a document after broken JSON; at the next line that begins
//! like an item, at the items' indentation, within a printed JSON list. The caller counts, and decides whether a
//! problem is fatal. [`source::Fatal`] is kept for what was named and is not there at all.
//!
//! **What comes first decides, not the name.** gzip is told by its magic bytes, UTF-16 (PowerShell's `>`) by its
//! byte order mark, JSON by the bracket and quote that a document begins with. Documents of both sorts may follow
//! each other in one file. The files of a directory are read sorted by name, each once by whatever path.
//!
//! **Older API versions are converted to those that the model reads** by the [`convert::Converter`] that is passed in; what
//! cannot be is a problem, and its neighbours are read all the same.
//!
//! **Lists are taken apart on the way**: `List` and typed lists, nested ones, bare arrays as `jq '.items'` makes
//! them. Only one item is held at a time, so a list may be larger than memory; of YAML the text of one document
//! is held. Items of typed lists get the kind and version that the API server leaves out in them.
//!
//! **YAML means what kubectl takes it to mean**; the table stands in `yaml/mod.rs`.
//!
//! **Everything is bounded** ([`limits::Limits`]): input, document, nesting, values, what aliases repeat. No bytes
//! make this crate panic (tests/suite/random.rs, tests/suite/bounds.rs).

mod ahead;
pub mod base64;
pub mod check;
pub mod convert;
pub mod document;
mod json;
pub mod limits;
pub mod now;
mod open;
pub mod problem;
pub mod read;
mod refused;
pub mod relaxed;
pub mod scalar;
pub mod snapshot;
pub mod source;
mod window;
mod yaml;
