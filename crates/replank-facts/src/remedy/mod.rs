//! What to do about a finding: changes that a program can make, each also as the command that a person pastes, and what to look at where
//! nothing can be proposed.
//!
//! A change is shown only when it has been proved: made on a copy, it mends what was found and breaks nothing else. Where it cannot be proved,
//! a person sees what to look at.

mod addon;
mod blocks;
mod commit;
mod commits;
mod edit;
mod eks_addon;
mod flow;
mod hcl;
mod installed;
mod managed_by;
mod new_budget;
mod nodegroup;
mod source;
mod target;
#[cfg(test)]
mod tests;

pub use addon::{Addons, of_stack, of_terraform, update_addon};
pub use blocks::{Block, Sort, blocks};
pub use commit::{Change, Commit, InAddon, InFiles, InTerraform, Place};
pub use commits::commits;
pub use edit::{Edit, Verb, Write};
pub use eks_addon::{AddonPods, EksAddon};
pub use installed::Installed;
pub use managed_by::ManagedBy;
pub use new_budget::BudgetBound;
pub use nodegroup::update_config;
pub use source::Renderer;
pub use target::{Target, TargetKind};

/// What to do.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Remedy {
    /// For a person: what to look at or to decide. It stands before the changes, and alone where they are not shown.
    pub look: String,
    /// What to look at besides where the changes are not shown. May be empty.
    pub otherwise: String,
    /// What a program can do: one of these, the first that is proved.
    pub ways: Vec<Way>,
}

/// Changes that belong together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Way {
    /// What is changed, in this order.
    pub edits: Vec<Edit>,
    /// When it is right, or what it costs: stands behind the first command. May be empty.
    pub note: String,
}

impl Remedy {
    /// Something that only a person can do.
    #[must_use]
    pub fn look(text: impl Into<String>) -> Self {
        Self { look: text.into(), ..Self::default() }
    }

    /// One change.
    #[must_use]
    pub fn edit(edit: Edit) -> Self {
        Self::default().or(edit)
    }

    /// One more change of the same way.
    #[must_use]
    pub fn then(mut self, edit: Edit) -> Self {
        match self.ways.last_mut() {
            Some(way) => way.edits.push(edit),
            None => return self.or(edit),
        }
        self
    }

    /// Another way.
    #[must_use]
    pub fn or(mut self, edit: Edit) -> Self {
        self.ways.push(Way { edits: vec![edit], note: String::new() });
        self
    }

    /// What stands behind the way that was added last.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        if let Some(last) = self.ways.last_mut() {
            last.note = note.into();
        }
        self
    }

    /// What to look at before the changes.
    #[must_use]
    pub fn look_first(mut self, text: impl Into<String>) -> Self {
        self.look = text.into();
        self
    }

    /// What to look at in place of the changes.
    #[must_use]
    pub fn or_look(mut self, text: impl Into<String>) -> Self {
        self.otherwise = text.into();
        self
    }

    /// Whether nothing can be said.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.look.is_empty() && self.ways.is_empty()
    }

    /// All of it, a line for each command.
    #[must_use]
    pub fn text(&self) -> String {
        let look = (!self.look.is_empty()).then(|| self.look.clone());
        let ways = (!self.ways.is_empty()).then(|| either(&self.ways.iter().collect::<Vec<_>>()));
        look.into_iter().chain(ways).collect::<Vec<_>>().join("\n")
    }
}

/// Ways of which a person takes one: each is whole, and `or:` stands between them.
#[must_use]
pub fn either(ways: &[&Way]) -> String {
    ways.iter().map(|way| way.text()).collect::<Vec<_>>().join("\nor:\n")
}

impl Way {
    /// A line for each command.
    #[must_use]
    pub fn text(&self) -> String {
        let mut commands: Vec<String> = self.edits.iter().map(ToString::to_string).collect();
        if let Some(first) = commands.first_mut().filter(|_| !self.note.is_empty()) {
            first.push_str("   # ");
            first.push_str(&self.note);
        }
        commands.join("\n")
    }
}

impl From<String> for Remedy {
    fn from(text: String) -> Self {
        Self::look(text)
    }
}

impl From<&str> for Remedy {
    fn from(text: &str) -> Self {
        Self::look(text)
    }
}

impl std::fmt::Display for Remedy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text())
    }
}
