//! A remedy in blocks, each of which goes to one place: what is pasted into a shell, what is committed to a file, and the words between.

use serde::Serialize;

/// A piece of a remedy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Block {
    /// Where it goes.
    pub sort: Sort,
    /// Its lines.
    pub text: String,
}

/// Where a block goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Sort {
    /// Into a shell, whole.
    Command,
    /// Into a file of YAML. JSON is YAML, too.
    Yaml,
    /// Into a file of Terraform.
    Hcl,
    /// Nowhere: it says what to do, or to look at.
    Words,
    /// Nowhere: it leads to the block below it.
    Lead,
}

/// Programs whose calls are pasted.
const PROGRAMS: [&str; 5] = ["kubectl ", "aws ", "replank ", "helm ", "eksctl "];

/// The blocks of a remedy's text: calls of programs are commands; what stands below a line that ends in a colon is what that line speaks of.
#[must_use]
pub fn blocks(text: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    for line in text.trim_end().lines() {
        let above = blocks.last().map(|block| block.sort);
        let is_comment = line.starts_with("# ");
        let (sort, line) = if PROGRAMS.iter().any(|program| line.starts_with(program)) {
            (Sort::Command, line)
        } else if line.ends_with(':') && (is_comment || !line.starts_with([' ', '-']) && line.contains(' ')) {
            (Sort::Lead, line.trim_start_matches("# "))
        } else if line == "or:" {
            (Sort::Lead, line)
        } else if is_comment && above == Some(Sort::Command) {
            // A shell skips it.
            (Sort::Command, line)
        } else if is_comment {
            (Sort::Words, line.trim_start_matches("# "))
        } else {
            match (above, blocks.last()) {
                (Some(Sort::Lead), Some(lead)) if is_of_terraform(&lead.text) => (Sort::Hcl, line),
                (Some(Sort::Lead), _) => (Sort::Yaml, line),
                (Some(file @ (Sort::Yaml | Sort::Hcl)), _) => (file, line),
                (Some(Sort::Command | Sort::Words) | None, _) => (Sort::Words, line),
            }
        };
        match blocks.last_mut() {
            Some(last) if last.sort == sort && sort != Sort::Lead => {
                last.text.push('\n');
                last.text.push_str(line);
            }
            Some(_) | None => blocks.push(Block { sort, text: line.to_owned() }),
        }
    }
    blocks
}

/// Whether a line leads to what is written in Terraform's language.
fn is_of_terraform(lead: &str) -> bool {
    (lead.contains("Terraform") || lead.contains("kubernetes_manifest")) && !lead.contains("CloudFormation")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorts(text: &str) -> Vec<(Sort, String)> {
        blocks(text).into_iter().map(|Block { sort, text }| (sort, text)).collect()
    }

    #[test]
    fn what_is_pasted_into_a_shell_and_what_is_committed_are_apart() {
        let text = "kubectl -n shop patch pdb cart -p '{}'\n# Argo CD Application shop puts it back: commit it, as a patch:\n- patch: '{}'";
        assert_eq!(
            sorts(text),
            [
                (Sort::Command, "kubectl -n shop patch pdb cart -p '{}'".to_owned()),
                (Sort::Lead, "Argo CD Application shop puts it back: commit it, as a patch:".to_owned()),
                (Sort::Yaml, "- patch: '{}'".to_owned()),
            ]
        );
        let text = "kubectl a\n# Terraform puts it back: merge this into the manifest of its kubernetes_manifest:\nspec = {\n  a = 1\n}";
        assert_eq!(sorts(text)[2], (Sort::Hcl, "spec = {\n  a = 1\n}".to_owned()));
    }

    #[test]
    fn each_of_two_ways_is_a_block_and_a_comment_stays_with_its_command() {
        let text = "either way:\nkubectl a   # if it may\nkubectl b\nor:\nkubectl c\n# no more";
        let command = |text: &str| (Sort::Command, text.to_owned());
        let lead = |text: &str| (Sort::Lead, text.to_owned());
        assert_eq!(
            sorts(text),
            [
                lead("either way:"),
                command("kubectl a   # if it may\nkubectl b"),
                lead("or:"),
                command("kubectl c\n# no more"),
            ]
        );
    }

    #[test]
    fn words_are_no_command_though_they_speak_of_one() {
        let words = "ask who runs kubectl here\nthen raise batch.wait";
        assert_eq!(sorts(words), [(Sort::Words, words.to_owned())]);
        assert_eq!(sorts("in the pod template of Deployment a:\nspec: {a: 1}")[1].0, Sort::Yaml);
        assert_eq!(
            sorts("set in the plan: batch: {wait: 6h}"),
            [(Sort::Words, "set in the plan: batch: {wait: 6h}".to_owned())]
        );
        assert_eq!(sorts(""), []);
    }
}
