//! Rolls on a small cluster that does what it is told.

mod apart;
mod basics;
mod care;
mod elastic;
mod external;
mod intents;
mod leftover;
mod managed;
mod moves;
mod protection;
mod random;
mod record;
mod restart;
mod stage;
mod taken;
mod waits;
