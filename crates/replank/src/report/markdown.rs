//! Pieces of Markdown.

use replank_facts::remedy::{Block, Sort, blocks};

/// Text in which nothing is markup.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        if matches!(letter, '*' | '_' | '`' | '<' | '>' | '|' | '[' | ']' | '\\' | '#') {
            escaped.push('\\');
        }
        escaped.push(letter);
    }
    escaped.replace('\n', " ")
}

/// What to do: what goes to one place as a block, to be pasted whole, and words beside them.
pub(crate) fn remedy(text: &str) -> String {
    let fenced = |language: &str, text: &str| format!("\n```{language}\n{text}\n```\n");
    let block = |block: Block| match block.sort {
        Sort::Command => fenced("sh", &block.text),
        Sort::Yaml => fenced("yaml", &block.text),
        Sort::Hcl => fenced("hcl", &block.text),
        Sort::Words => fenced("text", &block.text),
        Sort::Lead => format!("\n{}\n", escape(&block.text)),
    };
    blocks(text).into_iter().map(block).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_is_text_and_commands_are_blocks() {
        assert_eq!(escape("a_b <c> #4\nd"), "a\\_b \\<c\\> \\#4 d");
        assert_eq!(remedy("kubectl get pods\n"), "\n```sh\nkubectl get pods\n```\n");
        assert_eq!(remedy("wait"), "\n```text\nwait\n```\n");
        assert_eq!(remedy(""), "");
        // A block is pasted whole: what is meant as one of two must not stand in it.
        assert_eq!(
            remedy("either way:\nkubectl a\nkubectl b\nor:\nkubectl c\n# no more"),
            "\neither way:\n\n```sh\nkubectl a\nkubectl b\n```\n\nor:\n\n```sh\nkubectl c\n# no more\n```\n"
        );
    }
}
