//! Rehearsals carried out: a cluster is built on a real control plane and dumped as a user would dump it; the program rehearses a roll of the dump; then every
//! node that joined, was cordoned or went in the rehearsal does so on the real control plane, and every eviction is asked for, at its time. What the real
//! API server, controllers and scheduler make of it is compared with what was rehearsed.

mod carry;
mod compare;
pub mod fidelity;
mod means;
mod moment;
mod observed;
mod placed;
mod recorded;
mod scene;
mod stage;
mod steps;

use anyhow::{Context, Result};

pub use compare::Outcome;
pub use means::{Means, clean};
pub use scene::{Scene, of_dump, scenes};

/// Builds a scene, rehearses its roll, and carries it out.
///
/// # Errors
/// The cluster cannot be built, or the rehearsal's output cannot be read.
pub fn replay(means: &Means, scene: &Scene) -> Result<Outcome> {
    let folder = means.folder.join(&scene.name);
    let stage =
        stage::build(&means.assets, &folder, scene).with_context(|| format!("building {}", scene.name))?;
    let snapshot = stage.dump(&folder.join("cluster.json"))?;
    let mut arguments = scene.arguments.clone();
    if let Some(script) = &scene.script {
        let file = folder.join("script.txt");
        std::fs::write(&file, script)?;
        arguments.extend(["--script".to_owned(), file.display().to_string()]);
    }
    let rehearsal =
        recorded::rehearse(&means.replank, &snapshot, &arguments, &folder.join("rehearsal.json"))?;
    let others = recorded::rehearse_often(&means.replank, &snapshot, &arguments)?;
    let carried = carry::out(&stage, &rehearsal, scene.exact)?;
    Ok(compare::outcome(scene, &rehearsal, &others, &carried))
}
