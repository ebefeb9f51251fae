//! What parts of Replank take, each without the rest, and cases for other schedulers: one program, so that little is built.
//!
//! `cargo run --release -p replank-testkit --example bench -- sched` and so on; each module's page says what it takes.

mod audit;
mod hpa;
mod scale;
mod sched;
mod sched_cases;
mod world;

/// As in the product.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (what, arguments) =
        arguments.split_first().map_or(("", &[][..]), |(what, rest)| (what.as_str(), rest));
    match what {
        "audit" => audit::run(arguments),
        "hpa" => hpa::run(),
        "scale" => scale::run(arguments)?,
        "sched" => sched::run(arguments),
        "sched-cases" => sched_cases::run(arguments)?,
        "world" => world::run(arguments),
        other => anyhow::bail!("{other:?} is none of audit, hpa, scale, sched, sched-cases, world"),
    }
    Ok(())
}
